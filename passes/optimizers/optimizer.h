// What an update rule sees of a parameter. An optimizer is one function here,
// one file and one line in the table of expand_optimizer.cpp.
#pragma once

#include "passes/arithmetic.h"
#include "passes/parameters.h"

namespace gradus {

/// One parameter at one step. Values have the parameter's type; numbers that
/// are the same for all its elements are scalars of f64, rounded once when
/// they meet it.
class ParameterStep {
public:
  Arithmetic math;
  ParameterSettings settings;
  mlir::Value parameter;    // at entry
  mlir::Value gradient;     // already negated for `maximize`
  mlir::Value learningRate; // scalar f64, with schedule and factors
  mlir::Value stepNumber;   // scalar f64: 1 at the first step

  /// A number as a scalar of f64.
  mlir::Value scalar(double value) const {
    return math.number(value, stepNumber);
  }
  /// base^stepNumber, for 0 <= base < 1.
  mlir::Value powerOfStep(double base) const;
  /// A scalar of f64 in every element of a tensor like the parameter.
  mlir::Value spread(mlir::Value scalar) const;
  mlir::Value spread(double value) const {
    return math.number(value, parameter);
  }

  /// What the optimizer remembers of the parameter under a name; zeros at
  /// first. The state is `<optimizer>/<slot>/<parameter>`.
  mlir::Value readSlot(llvm::StringRef slot);
  void writeSlot(llvm::StringRef slot, mlir::Value value);
  void writeParameter(mlir::Value value);

  ProgramOp program;
  std::string optimizer;
  std::string name;
  bool nameClash = false; // a slot has the name of a state of the model
};

/// The formula of an optimizer: reads `step` and writes its parameter.
using UpdateRule = mlir::LogicalResult (*)(ParameterStep &step);

mlir::LogicalResult sgd(ParameterStep &step);
mlir::LogicalResult adam(ParameterStep &step);
mlir::LogicalResult adamw(ParameterStep &step);

/// Moves `parameter` by Adam's moments of `gradient`; the common part of adam
/// and adamw.
mlir::LogicalResult moveByMoments(ParameterStep &step, mlir::Value parameter,
                                  mlir::Value gradient);

/// `gradient + weight_decay * parameter`: decay by way of the gradient.
mlir::Value decayedGradient(const ParameterStep &step);

} // namespace gradus
