// The sizes of an attention, for the verifier, the evaluator and code
// generation alike.
#pragma once

#include "ir/build.h"

namespace gradus {

/// Queries [batch, heads, queries, width], keys [batch, heads, keys, width],
/// values [batch, heads, keys, depth].
struct AttentionSizes {
  int64_t batch, heads, queries, keys, width, depth;

  AttentionSizes(mlir::Value query, mlir::Value value)
      : batch(shape(query)[0]), heads(shape(query)[1]),
        queries(shape(query)[2]), keys(shape(value)[2]), width(shape(query)[3]),
        depth(shape(value)[3]) {}

  llvm::SmallVector<int64_t> scores() const {
    return {batch, heads, queries, keys};
  }

  bool fitsAKernel() const { return keysAtMost() > 0; }

  /// The maximum number of keys in a tile: the transposed keys and the values
  /// lie on the stack beside the scores, in 768 KiB. 0 if not even a few fit.
  int64_t keysAtMost() const {
    constexpr int64_t maximumTransposed = 192 * 1024, maximum = 1024,
                      minimum = 16;
    int64_t fit = maximumTransposed / std::max<int64_t>(width + depth, 1) - 16;
    return fit < minimum ? 0 : std::min(fit, maximum);
  }

private:
  static llvm::ArrayRef<int64_t> shape(mlir::Value value) {
    return tensorType(value).getShape();
  }
};

/// The bf16 that a value widens; null for other values.
inline mlir::Value widenedBf16(mlir::Value value) {
  auto widened = value.getDefiningOp<mlir::arith::ExtFOp>();
  bool isIts = widened && mlir::getElementTypeOrSelf(widened.getIn()).isBF16();
  return isIts ? widened.getIn() : mlir::Value();
}

/// Whether matmuls in an attention read bf16, in pairs along the features of a
/// head, where the target multiplies such.
inline bool readsPairs(mlir::Value query, mlir::Value key, mlir::Value value) {
  AttentionSizes sizes(query, value);
  return sizes.fitsAKernel() && sizes.width % 2 == 0 && sizes.depth % 2 == 0 &&
         widenedBf16(query) && widenedBf16(key) && widenedBf16(value);
}

} // namespace gradus
