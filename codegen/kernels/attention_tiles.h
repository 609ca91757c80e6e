// Divides the scores of attention into items for threads, and items into tiles
// that are computed one after another.
#pragma once

#include "ir/attention_sizes.h"

#include "llvm/ADT/SmallVector.h"
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

  /// With `pairs` matmuls read two keys at a time, of which a block of queries
  /// must not see one alone, unless that is the last.
  AttentionTiles(const AttentionSizes &sizes, bool causal, bool ofKeys,
                 bool pairs) {
    constexpr int64_t mostScores = 128 * 1024, mostBlocks = 8;
    int64_t blocks = std::max<int64_t>(
        1, llvm::divideCeil(sizes.queries * sizes.keys, mostScores));
    if (causal)
      blocks = std::max(blocks,
                        std::clamp<int64_t>(sizes.queries / 32, 1, mostBlocks));
    rows = llvm::divideCeil(sizes.queries, blocks);
    if (causal && pairs)
      rows = llvm::alignTo(rows, 2);
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

/// A block of queries and the number of keys that it attends to.
struct QueryBlock {
  int64_t start, rows, keys;
};

/// The blocks of a head that is processed without running sums.
inline llvm::SmallVector<QueryBlock> blocksOf(const AttentionSizes &sizes,
                                              int64_t rows, bool causal) {
  llvm::SmallVector<QueryBlock> blocks;
  for (int64_t start = 0; start < sizes.queries; start += rows) {
    int64_t end = std::min(start + rows, sizes.queries);
    // The last block attends to all keys, so that each has a gradient.
    bool meetsAll = !causal || end == sizes.queries;
    blocks.push_back({start, end - start,
                      meetsAll ? sizes.keys : std::min(end, sizes.keys)});
  }
  return blocks;
}

/// The number of scores of a head that are computed: all but those of tiles
/// that a causal mask hides.
inline int64_t scoresMet(const AttentionSizes &sizes,
                         const AttentionTiles &tiles, bool causal) {
  int64_t met = 0;
  if (tiles.inOneGo) {
    for (const QueryBlock &block : blocksOf(sizes, tiles.rows, causal))
      met += block.rows * block.keys;
    return met;
  }
  for (int64_t start = 0; start < sizes.keys; start += tiles.keys) {
    int64_t hidden = causal ? std::min(start, sizes.queries) : 0;
    met += (sizes.queries - hidden / tiles.rows * tiles.rows) *
           std::min(tiles.keys, sizes.keys - start);
  }
  return met;
}

} // namespace gradus
