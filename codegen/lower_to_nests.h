// The parts of lower_to_nests: ops that slide windows, and those that take
// tensors apart, stand by themselves.
#pragma once

#include "codegen/nest.h"

namespace gradus {

/// Writes a convolution or pooling op as nests and returns its results' values;
/// nothing if `op` is no such op.
llvm::SmallVector<mlir::Value> lowerWindowOp(mlir::OpBuilder &builder,
                                             mlir::Operation *op);

/// Writes an op that takes or puts together parts as nests (or, where indices
/// decide, as a command) and returns its result's value; null if `op` is none.
mlir::Value lowerIndexingOp(mlir::OpBuilder &builder, mlir::Operation *op);

} // namespace gradus
