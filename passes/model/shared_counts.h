// Means that a model computes itself.
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// Makes each mean of a graph that the model computes over what counts, such as
/// labels that are not ignored or elements of a mask, divide by the mean over
/// ranks of how much counts. The mean over ranks of the loss is then that of
/// the samples of all, where this is such a mean or a sum of such. `ranks` is
/// an i64 scalar.
void shareCounts(GraphOp graph, mlir::Value ranks);

} // namespace gradus
