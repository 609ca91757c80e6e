// The loss scale: what gradients are multiplied by on their way, so that small
// ones do not vanish in f16.
#pragma once

#include "passes/recipe.h"

namespace gradus {

/// The gradient that the loss starts with: the scale where the recipe has a
/// `loss_scale`, else 1. Makes the states of a dynamic scale. Null where the
/// model has a state under their names.
mlir::Value seedOfLoss(mlir::OpBuilder &builder, mlir::Location loc,
                       ProgramOp program, mlir::RankedTensorType type);

} // namespace gradus
