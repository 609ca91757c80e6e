// What an update rule sees of a parameter. An optimizer is one function here,
// one file and one line in the table of optimizer.cpp.
#pragma once

#include "passes/arithmetic.h"
#include "passes/parameters.h"
#include "passes/schedules.h"
#include "passes/state.h"

namespace gradus {

/// One parameter at one step. Values have the parameter's type; numbers that
/// are the same for all its elements are scalars of f64, rounded once when
/// they meet it.
class ParameterStep {
public:
  Arithmetic math;
  ParameterSettings settings;
  const Schedules &schedules;
  mlir::Value parameter;    // at entry
  mlir::Value gradient;     // with coupled decay; negated for `maximize`
  mlir::Value learningRate; // scalar f64, with schedule and factors
  mlir::Value stepNumber;   // scalar f64: 1 at the first step

  /// A number as a scalar of f64.
  mlir::Value scalar(double value) const {
    return math.number(value, stepNumber);
  }
  /// A hyperparameter under its schedule, as a scalar of f64.
  mlir::Value number(llvm::StringRef key, double otherwise) const;
  /// One of the two `betas`, scheduled as `beta1` and `beta2`.
  mlir::Value beta(unsigned index, double otherwise) const;
  /// base^stepNumber, for 0 <= base < 1.
  mlir::Value powerOfStep(mlir::Value base) const;
  /// 1 - value.
  mlir::Value rest(mlir::Value value) const {
    return math.subtract(scalar(1), value);
  }
  mlir::Value isFirst() const { return math.less(stepNumber, scalar(1.5)); }
  /// A scalar in every element of a tensor like the parameter.
  mlir::Value spread(mlir::Value scalar) const;
  mlir::Value spread(double value) const {
    return math.number(value, parameter);
  }
  /// `scalar * value`, and `value + scalar`.
  mlir::Value scale(mlir::Value scalar, mlir::Value value) const {
    return math.multiply(spread(scalar), value);
  }
  mlir::Value shift(mlir::Value value, mlir::Value scalar) const {
    return math.add(value, spread(scalar));
  }
  /// `rate * old + (1 - rate) * value`, the moving average.
  mlir::Value average(mlir::Value rate, mlir::Value old,
                      mlir::Value value) const;
  /// The same rounded as torch.lerp: from the nearer end, so that a rate of 0
  /// gives exactly `value`.
  mlir::Value approach(mlir::Value rate, mlir::Value old,
                       mlir::Value value) const;
  /// With the recipe's `cautious`, without the elements of a move that go
  /// against the gradient, the rest longer. https://arxiv.org/abs/2411.16085
  mlir::Value cautious(mlir::Value move) const;

  /// What the optimizer remembers of the parameter under a name, all `initial`
  /// at first. The state is `<optimizer>/<slot>/<parameter>`.
  mlir::Value readSlot(llvm::StringRef slot, double initial = 0);
  /// The same of another type, such as a scalar.
  mlir::Value readSlot(llvm::StringRef slot, mlir::RankedTensorType type,
                       double initial = 0);
  void writeSlot(llvm::StringRef slot, mlir::Value value);
  void writeParameter(mlir::Value value);
  /// Writes `parameter - learning_rate * direction`.
  void descend(mlir::Value direction);
  /// Takes `learning_rate * weight_decay` of the parameter off: decay that does
  /// not pass through the gradient. `corrected_weight_decay` weakens it as the
  /// learning rate falls.
  void decay(double otherwise);

  States &states;
  std::string optimizer;
  std::string name;
  bool failed = false; // a slot has the name of a state of the model
};

/// The formula of an optimizer: reads `step` and writes its parameter.
using UpdateRule = mlir::LogicalResult (*)(ParameterStep &step);

struct Optimizer {
  llvm::StringRef name;
  UpdateRule rule;
  /// Whether weight decay enters the gradient before the rule sees it.
  bool couplesDecay = true;
};

/// The optimizer that moves a parameter; an unknown one is an error, null.
const Optimizer *findOptimizer(const ParameterSettings &settings);
/// Whether `weight_decay` is to be added to this parameter's gradient.
bool couplesDecay(const ParameterSettings &settings,
                  const Optimizer &optimizer);

mlir::LogicalResult adadelta(ParameterStep &step);
mlir::LogicalResult adafactor(ParameterStep &step);
mlir::LogicalResult adagrad(ParameterStep &step);
mlir::LogicalResult adam(ParameterStep &step);
mlir::LogicalResult adamax(ParameterStep &step);
mlir::LogicalResult adamw(ParameterStep &step);
mlir::LogicalResult asgd(ParameterStep &step);
mlir::LogicalResult lamb(ParameterStep &step);
mlir::LogicalResult lars(ParameterStep &step);
mlir::LogicalResult lion(ParameterStep &step);
mlir::LogicalResult muon(ParameterStep &step);
mlir::LogicalResult nadam(ParameterStep &step);
mlir::LogicalResult radam(ParameterStep &step);
mlir::LogicalResult rmsprop(ParameterStep &step);
mlir::LogicalResult rprop(ParameterStep &step);
mlir::LogicalResult sgd(ParameterStep &step);

} // namespace gradus
