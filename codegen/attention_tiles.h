// How attention's scores are divided: into items for threads, and into tiles
// that an item computes one after the other.
#pragma once

#include "ir/attention_sizes.h"

#include "llvm/Support/MathExtras.h"

namespace gradus {

/// Tiles of `rows` queries by `keys` keys, at most 512 KiB of scores. An item
/// has a head's queries, in the forward pass, or keys, in the backward, or one
/// of several equal parts of them.
struct AttentionTiles {
  int64_t rows, keys, parts = 1;
  /// Each block of queries meets all its keys at once, and has code of its own.
  bool inOneGo = false;

  AttentionTiles(const AttentionSizes &sizes, bool causal, bool ofKeys) {
    constexpr int64_t mostScores = 128 * 1024, mostBlocks = 8;
    int64_t blocks = std::max<int64_t>(
        1, llvm::divideCeil(sizes.queries * sizes.keys, mostScores));
    if (causal)
      blocks = std::max(blocks, std::clamp<int64_t>(sizes.queries / 64, 1, 4));
    rows = llvm::divideCeil(sizes.queries, blocks);
    keys = sizes.keys;
    // One or two heads are divided as soon as it makes work for more threads.
    bool isAlone = sizes.batch * sizes.heads < 3 &&
                   std::min(sizes.queries, sizes.keys) >= 2 * kLeastPart;
    inOneGo = blocks <= mostBlocks && keys <= sizes.keysAtMost() && !isAlone;
    if (!inOneGo)
      divide(sizes, causal, ofKeys);
  }

private:
  static constexpr int64_t kLeastPart = 256;

  /// Square enough that reading and rescaling cost little; smaller under a
  /// causal mask, whose tiles on the diagonal are half in vain.
  void divide(const AttentionSizes &sizes, bool causal, bool ofKeys) {
    constexpr int64_t mostRows = 128, wantedItems = 8;
    int64_t most = std::min<int64_t>(sizes.keysAtMost(), causal ? 256 : 512),
            divided = ofKeys ? sizes.keys : sizes.queries;
    for (int64_t wanted =
             llvm::divideCeil(wantedItems, sizes.batch * sizes.heads);
         wanted > 1 && parts == 1; --wanted)
      if (divided % wanted == 0 && divided / wanted >= kLeastPart)
        parts = wanted;
    rows = evenly(ofKeys ? sizes.queries : sizes.queries / parts, mostRows, 4);
    keys = evenly(ofKeys ? sizes.keys / parts : sizes.keys, most, 16);
  }

  /// The size of as few equal tiles as there can be.
  static int64_t evenly(int64_t all, int64_t most, int64_t multiple) {
    int64_t size = llvm::divideCeil(all, llvm::divideCeil(all, most));
    return std::min<int64_t>(
        {all, most, int64_t(llvm::alignTo(size, multiple))});
  }
};

} // namespace gradus
