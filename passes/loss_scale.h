// Settings of the loss scale: the factor of gradients in the backward pass,
// which keeps small ones from vanishing in f16.
#pragma once

#include "recipe/settings.h"

#include <string>
#include <vector>

namespace gradus {

struct LossScaleSettings {
  enum class Type { fixed, dynamic, group };

  Type type = {};
  double initial = 0;
  double minimum = 0; // but of a fixed scale
  // Only for a dynamic scale:
  double factor = 0;          // of growth and shrinking
  int64_t growthInterval = 0; // steps without overflow until it grows
  bool growsToInfinity = false;
  // Only for scales of groups:
  std::vector<std::vector<std::string>> groups; // patterns of parameters' names
  std::vector<double> initials; // one for each group, or for all
  double growth = 0;            // the factor of each step without overflow
  double reduction = 0;         // the factor of a step with one
  double maximum = 0;
};

const recipe::Method<LossScaleSettings> &lossScale();

/// The gradient of the loss itself: the scale if the recipe has one for all
/// gradients, else 1. Adds the states of a dynamic scale. Null if the model has
/// a state of their names.
mlir::Value seedOfLoss(mlir::OpBuilder &builder, mlir::Location loc,
                       ProgramOp program, mlir::RankedTensorType type);

/// The scale that a parameter's gradient has behind autodiff, a scalar of f32;
/// 1 where the recipe has none. Null with an error where the model has a state
/// of its name, or where no group names the parameter.
mlir::Value scaleOfGradient(mlir::OpBuilder &builder, mlir::Location loc,
                            ProgramOp program, llvm::StringRef parameter);

/// The sum of a value's elements times 0, a scalar of f32: 0 where all are
/// finite, else NaN. It is computed where the value is, while that is in the
/// cache.
mlir::Value zeroIfFinite(mlir::Value value);

} // namespace gradus
