// An optimizer is one file here and a line of optimizers.def: its keys, the
// settings that they fill, and its rule, which moves one parameter.
#pragma once

#include "ir/arithmetic.h"
#include "passes/numbers.h"
#include "passes/optimizers/keys.h"
#include "passes/optimizers/schedules.h"

#include <functional>

namespace gradus {

/// One parameter at one step. Values have the parameter's type; numbers that
/// are the same for all its elements are scalars of f64, rounded once when
/// they meet it.
class ParameterStep {
public:
  Arithmetic math;
  OptimizerSettings settings;
  const Schedules &schedules;
  mlir::Value parameter;    // at entry
  mlir::Value gradient;     // with coupled decay; negated for `maximize`
  mlir::Value learningRate; // scalar f64, with schedule and factors
  mlir::Value stepNumber;   // scalar f64: 1 at the first step

  /// A constant as a scalar of f64.
  mlir::Value scalar(double value) const {
    return math.number(value, stepNumber);
  }
  /// A number of the recipe, as a scalar of f64; rounded to f32 if the
  /// optimizer is single.
  mlir::Value plain(const recipe::Number &number);
  /// A hyperparameter under the schedule of its key, as a scalar of f64.
  mlir::Value number(const recipe::Number &number);
  /// The decay rate of one of two moments, scheduled as `beta1` or `beta2`.
  mlir::Value beta(const Betas &betas, unsigned index);
  /// base^stepNumber, for 0 <= base < 1.
  mlir::Value powerOfStep(mlir::Value base) const;
  /// 1 - value.
  mlir::Value rest(mlir::Value value) const {
    return math.subtract(scalar(1), value);
  }
  mlir::Value isFirst() const { return math.less(stepNumber, scalar(1.5)); }
  /// A scalar in every element of a tensor like another.
  mlir::Value spread(mlir::Value scalar, mlir::Value like) const {
    return spreadLike(math, scalar, like);
  }
  /// The same like the parameter.
  mlir::Value spread(mlir::Value scalar) const {
    return spread(scalar, parameter);
  }
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

  /// Reads what the optimizer remembers of the parameter under a name, all
  /// `initial` at first. The state is `<optimizer>/<slot>/<parameter>`.
  mlir::Value readSlot(llvm::StringRef slot, double initial = 0);
  /// The same of another type, such as a scalar.
  mlir::Value readSlot(llvm::StringRef slot, mlir::RankedTensorType type,
                       double initial = 0);
  void writeSlot(llvm::StringRef slot, mlir::Value value);
  void writeParameter(mlir::Value value);
  /// Writes `parameter - learning_rate * direction`.
  void descend(mlir::Value direction);
  bool decays() const { return settings.weightDecay.initial != 0; }
  /// Takes `learning_rate * weight_decay` of the parameter off: decay that does
  /// not pass through the gradient. `corrected_weight_decay` weakens it as the
  /// learning rate falls.
  void decay();

  /// An error about a key of the optimizer.
  mlir::InFlightDiagnostic error(const llvm::Twine &key) const;

  States &states;
  std::string optimizer; // what its slots are called by
  std::string name;
  double learningRateFactor = 1; // of the groups, which learningRate has
  ProgramOp program = {};
  std::string path = {};    // of the optimizer in the recipe
  bool failed = false;      // a slot has the name of a state of the model
  bool hasMomentum = false; // the gradient is the direction of sgd already
};

/// Marks updates whose gradient has the momentum of sgd in it.
constexpr llvm::StringLiteral kHasMomentum = "gradus.has_momentum";

struct Optimizer {
  std::string_view name; // the recipe's `type`
  recipe::Fields keys;
  /// The formula: reads the step and the optimizer's own settings, and writes
  /// the parameter.
  std::function<mlir::LogicalResult(ParameterStep &step,
                                    const recipe::Value &own)>
      rule;
  /// Whether weight decay enters the gradient before the rule sees it, unless
  /// the recipe decouples it.
  bool couplesDecay = true;
  /// Whether the rule multiplies gradients by curvature of its own, so that
  /// `precondition` would do it twice.
  bool preconditions = false;
  /// The optimizer of a parameter that this one leaves to another; nothing for
  /// those that it moves. Null: it moves all.
  std::function<std::optional<recipe::Value>(const recipe::Value &own,
                                             StateOp parameter)>
      leaves = {};
};

/// A number of the recipe as optimizers compute with it, a scalar of f64;
/// rounded to f32 if `isSingle`. Null with an error where the model has a state
/// of its name.
mlir::Value readHyperparameter(const Arithmetic &math, States &states,
                               const recipe::Number &number, bool isSingle);

/// An optimizer whose own keys fill `Settings`.
template <typename Settings>
Optimizer optimizer(std::string_view name, recipe::Fields keys,
                    mlir::LogicalResult (*rule)(ParameterStep &,
                                                const Settings &)) {
  auto read = [rule](ParameterStep &step, const recipe::Value &own) {
    return rule(step, own.as<Settings>());
  };
  return {name, std::move(keys) + commonKeys(), read};
}

#define GRADUS_OPTIMIZER(name) Optimizer name();
#include "passes/optimizers/optimizers.def"
#undef GRADUS_OPTIMIZER

/// The optimizer that a value of `optimizerKey()` picks.
const Optimizer &optimizerOf(const recipe::Value &value);

/// The recipe's `optimizer`, or another key whose values are optimizers.
recipe::Field optimizerKey(std::string_view key, std::string_view fallback,
                           std::string_view help);

} // namespace gradus
