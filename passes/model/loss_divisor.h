// The number that a loss is divided by.
#pragma once

#include "passes/model/losses.h"

namespace gradus {

/// The labels that count in a loss of classes, as a scalar of f32.
mlir::Value countLabels(mlir::OpBuilder &builder, mlir::Location loc,
                        const Loss &loss, mlir::Value label);

/// The number by which the loss of a training graph is divided, as a scalar of
/// f32: the labels that count, but at least 1, else the samples; 1 for a sum.
/// The first loss decides where there are several; where the recipe has none,
/// it is the first dimension of the graph's first input. On ranks whose mean
/// loss trains it is that of a rank's loss: of a mean over all labels the mean
/// over ranks of those that count, of a sum 1 by the number of ranks. Fails
/// with an error at the recipe's key.
mlir::FailureOr<mlir::Value> divisorOfLoss(mlir::OpBuilder &builder,
                                           GraphOp train);

} // namespace gradus
