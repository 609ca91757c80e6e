// How large the tensors of a model may be, so that sizes computed from theirs
// do not overflow, and how deep its graphs.

#ifndef GRADUS_FRONTENDS_ONNX_SIZE_LIMITS_H
#define GRADUS_FRONTENDS_ONNX_SIZE_LIMITS_H

#include "mlir/Support/LLVM.h"

namespace gradus::onnx {

/// Elements of any tensor; each of its sizes has this limit as well.
inline constexpr int64_t kMostElements = int64_t(1) << 56;

/// Elements of a constant that the import itself computes.
inline constexpr int64_t kMostFolded = int64_t(1) << 28;

/// Graphs in one another: branches of `If`, bodies of `Loop`. Whatever looks at
/// them calls itself for each.
inline constexpr int kMostGraphs = 300;

/// Whether the sizes are none below 0 and multiply to at most `most`. Sizes of
/// 0 count as 1, so that the others keep the limit beside them.
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
