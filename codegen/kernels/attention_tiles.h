// Divides the scores of attention into items for threads, and items into tiles
// that are computed one after another.
#pragma once

#include "ir/attention_sizes.h"

#include "llvm/Support/MathExtras.h"

namespace gradus {

/// Tiles of `rows` queries by `keys` keys, at most 512 KiB of scores. An item
/// has all queries of a head (forward) or all its keys (backward), or one of
/// several equal parts of them.
struct AttentionTiles {
  int64_t rows, keys, parts = 1;
  /// Each block of queries has code of its own, which processes all its keys at
  /// once.
  bool inOneGo = false;

  AttentionTiles(const AttentionSizes &sizes, bool causal, bool ofKeys) {
    constexpr int64_t mostScores = 128 * 1024, mostBlocks = 8;
    int64_t blocks = std::max<int64_t>(
        1, llvm::divideCeil(sizes.queries * sizes.keys, mostScores));
    if (causal)
      blocks = std::max(blocks, std::clamp<int64_t>(sizes.queries / 64, 1, 4));
    rows = llvm::divideCeil(sizes.queries, blocks);
    keys = sizes.keys;
    // One or two heads are divided if that gives work to more threads.
    bool isAlone = sizes.batch * sizes.heads < 3 &&
                   std::min(sizes.queries, sizes.keys) >= 2 * kLeastPart;
    inOneGo = blocks <= mostBlocks && keys <= sizes.keysAtMost() && !isAlone;
    if (!inOneGo)
      divide(sizes, causal, ofKeys);
  }

private:
  static constexpr int64_t kLeastPart = 256;

  /// Chooses tiles that are square enough to make reads and rescaling cheap.
  /// They are smaller with a causal mask, which wastes half of a tile on the
  /// diagonal.
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

  /// The size of a tile if `all` is divided into as few equal tiles as
  /// possible.
  static int64_t evenly(int64_t all, int64_t most, int64_t multiple) {
    int64_t size = llvm::divideCeil(all, llvm::divideCeil(all, most));
    return std::min<int64_t>(
        {all, most, int64_t(llvm::alignTo(size, multiple))});
  }
};

} // namespace gradus
