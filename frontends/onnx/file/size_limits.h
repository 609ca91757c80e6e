// Limits on tensor sizes, so that computed sizes do not overflow, and on the
// nesting of graphs.

#ifndef GRADUS_FRONTENDS_ONNX_SIZE_LIMITS_H
#define GRADUS_FRONTENDS_ONNX_SIZE_LIMITS_H

#include "mlir/Support/LLVM.h"

namespace gradus::onnx {

/// The maximum number of elements of a tensor, and of each of its sizes.
inline constexpr int64_t kMostElements = int64_t(1) << 56;

/// The maximum number of elements of a constant that the import computes.
inline constexpr int64_t kMostFolded = int64_t(1) << 28;

/// The maximum nesting of graphs: branches of `If`, bodies of `Loop`. Code that
/// visits them is recursive.
inline constexpr int kMostGraphs = 300;

/// Whether no size is negative and their product is at most `most`. Sizes of 0
/// count as 1, so that the limit still applies to the others.
template <typename Sizes> bool isWithin(const Sizes &shape, int64_t most) {
  int64_t count = 1;
  for (int64_t extent : shape)
    if (extent < 0 ||
        __builtin_mul_overflow(count, std::max<int64_t>(extent, 1), &count) ||
        count > most)
      return false;
  return true;
}

} // namespace gradus::onnx

#endif // GRADUS_FRONTENDS_ONNX_SIZE_LIMITS_H
