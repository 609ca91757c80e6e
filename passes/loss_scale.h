// Settings of the loss scale: the factor of gradients in the backward pass,
// which keeps small ones from vanishing in f16.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct LossScaleSettings {
  enum class Type { fixed, dynamic };

  Type type = {};
  double initial = 0;
  // Only for a dynamic scale:
  double factor = 0;          // of growth and shrinking
  int64_t growthInterval = 0; // steps without overflow until it grows
  double minimum = 0;
  bool growsToInfinity = false;
};

const recipe::Method<LossScaleSettings> &lossScale();

/// The gradient of the loss itself: the scale if the recipe has a `loss_scale`,
/// else 1. Adds the states of a dynamic scale. Null if the model has a state of
/// their names.
mlir::Value seedOfLoss(mlir::OpBuilder &builder, mlir::Location loc,
                       ProgramOp program, mlir::RankedTensorType type);

} // namespace gradus
