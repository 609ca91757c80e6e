// Attention as kernels of its own, a head at a time.
#pragma once

#include "codegen/form_kernels_outline.h"

namespace gradus {

/// Launches a kernel for `gradus.attention` or `gradus.attention_backward` and
/// returns what takes the place of its results; nothing if `op` is neither.
llvm::SmallVector<mlir::Value> lowerAttention(mlir::OpBuilder &builder,
                                              mlir::Operation *op,
                                              KernelTable &kernels);

} // namespace gradus
