// The loss scale: what gradients are multiplied by on their way, so that small
// ones do not vanish in f16.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct LossScaleSettings {
  enum class Type { fixed, dynamic };

  Type type = {};
  double initial = 0;
  // A dynamic scale has these, too:
  double factor = 0;          // by which it grows, and shrinks
  int64_t growthInterval = 0; // steps without overflow until it grows
  double minimum = 0;
  bool growsToInfinity = false;
};

const recipe::Method<LossScaleSettings> &lossScale();

/// The gradient that the loss starts with: the scale where the recipe has a
/// `loss_scale`, else 1. Makes the states of a dynamic scale. Null where the
/// model has a state under their names.
mlir::Value seedOfLoss(mlir::OpBuilder &builder, mlir::Location loc,
                       ProgramOp program, mlir::RankedTensorType type);

} // namespace gradus
