// Finds the groups of parameters in whose part of the backward pass an overflow
// began.
#pragma once

#include "passes/loss_scale_groups.h"

namespace gradus {

/// For each group, whether no overflow began in it: all of its gradients and
/// all that it passes on at borders are finite, or something that it was given
/// at a border is not. Null for a group of which the graph computes nothing.
/// A step in which none began has finite gradients alone, for what is not
/// finite is its own group's doing or was given to it by a higher one, and the
/// highest is given nothing.
llvm::SmallVector<mlir::Value>
groupsWithoutOverflow(mlir::OpBuilder &builder, const ScaleGroups &groups,
                      llvm::ArrayRef<ParameterUpdate> updates);

/// Whether an op multiplies a gradient by the ratio of scales at a border.
bool isAtBorder(mlir::Operation *op);

} // namespace gradus
