// The two halves of lower_to_nests: ops that slide windows stand apart.
#pragma once

#include "codegen/nest.h"

namespace gradus {

/// Writes a convolution or pooling op as nests and returns its results' values;
/// nothing if `op` is no such op.
llvm::SmallVector<mlir::Value> lowerWindowOp(mlir::OpBuilder &builder,
                                             mlir::Operation *op);

} // namespace gradus
