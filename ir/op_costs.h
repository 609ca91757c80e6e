// Counts the terms that an op sums and the operations that it needs, by its
// shapes: for bounds of rounding and for the statistics of a program.
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// The number of terms that a result of the op sums, as far as they matter for
/// rounding; 1 for elementwise arithmetic.
int64_t summedTerms(mlir::Operation &op);

/// The floating-point operations of an op of a graph: 2 for each term of a
/// matmul or convolution, 1 for each element of a reduction's operand or of
/// what others make, 0 for ops that only move elements.
int64_t graphFlops(mlir::Operation &op);

} // namespace gradus
