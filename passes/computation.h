// Finds the ops that a value of a graph is computed by, and computes it at
// other weights than the states hold, as a line search asks of the loss.
#pragma once

#include "ir/gradus.h"

#include "llvm/ADT/StringMap.h"

namespace gradus {

/// `op` and the ops on which it depends, in reverse order; empty for null.
llvm::SmallVector<mlir::Operation *> computationOf(mlir::Operation *op);

/// Computes `value` once more, at the builder's place, as it would be if the
/// states of these names had these values: the ops behind it that depend on a
/// read of one of them are copied. All others are shared, so that both have the
/// same batch and the same random numbers; no state is written.
mlir::Value valueAt(mlir::OpBuilder &builder, mlir::Value value,
                    const llvm::StringMap<mlir::Value> &states);

} // namespace gradus
