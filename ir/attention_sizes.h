// The sizes of an attention, for the verifier, the evaluator and code
// generation alike.
#pragma once

#include "ir/build.h"

#include "llvm/Support/MathExtras.h"

namespace gradus {

/// Added masks move scores no lower, unless to -inf: huge negative numbers hide
/// keys as this one does. Where all keys of a query are so hidden, its scores
/// are alike and its logsumexp keeps enough digits for the gradient to find the
/// same mean.
inline constexpr double kLeastScore = -3e4;

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

  /// Blocks of queries that a kernel takes one after the other, so that the
  /// scores of one fit into 512 KiB; several for a causal mask, which hides
  /// most keys from the first. 0: more than a kernel should be made of, or keys
  /// and values beyond 768 KiB a head, which lie on the stack with the scores.
  int64_t blocks(bool causal) const {
    constexpr int64_t mostScores = 128 * 1024, mostKeys = 192 * 1024, most = 8,
                      causalRows = 64;
    if ((width + depth) * (keys + 16) > mostKeys)
      return 0;
    int64_t count = llvm::divideCeil(queries * keys, mostScores);
    if (causal)
      count = std::max(count, std::clamp<int64_t>(queries / causalRows, 1, 4));
    // Of few long rows a block may hold more than its share.
    bool fits =
        int64_t(llvm::divideCeil(queries, count)) * keys <= mostScores * 5 / 4;
    return count <= most && fits ? count : 0;
  }

private:
  static llvm::ArrayRef<int64_t> shape(mlir::Value value) {
    return tensorType(value).getShape();
  }
};

} // namespace gradus
