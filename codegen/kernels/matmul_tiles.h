// Divides a matmul of pairs of bf16, or of f32, into items for threads, and
// items into tiles whose sums fill the registers.
#pragma once

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cstdint>

namespace gradus {

/// A matrix [rows, inner] times one of [inner, columns]; each may be transposed
/// in memory. A term of a sum is a product of pairs, or of single numbers.
struct MatmulSizes {
  int64_t rows = 0, inner = 0, columns = 0;
  bool leftIsTransposed = false, rightIsTransposed = false, ofPairs = true;

  static constexpr int64_t kTermsOfLine = 16; // 64 bytes, a line of a cache

  int64_t terms() const { return ofPairs ? inner / 2 : inner; }
  /// Whether the rows of a tile would share one set of the first cache, which
  /// holds fewer of them, and enough panels read them to make a copy worth it.
  bool sharesSets() const {
    constexpr int64_t linesOfWay = 64, fewestColumns = 192;
    return !leftIsTransposed && terms() % (linesOfWay * kTermsOfLine) == 0 &&
           columns >= fewestColumns;
  }
  /// Whether items pack their panels of the right matrix themselves, and their
  /// sums ask for the next: few wait for memory then, and no packed copy lies
  /// in it.
  bool packsInItems() const { return ofPairs && !leftIsTransposed; }
  /// Whether kernels of our own can compute it.
  bool areOurs() const;
};

/// A tile has some rows and the columns of a panel. A block of rows is some
/// tiles: at most as many as stay in the second cache, or, where each block
/// packs its panels, as leave each thread a number of items. All terms are
/// summed at once, or parts of them one after another if a panel of them fits
/// into no cache.
struct MatmulTiles {
  static constexpr int64_t kWidth = 32; // of a panel: two registers of sums
  static constexpr int64_t kMostTerms = 1536; // of a panel: 192 KiB

  int64_t rows, panels, tilesOfBlock, rowBlocks, termsOfPart;

  MatmulTiles(const MatmulSizes &sizes, int64_t threads) {
    // 14 rows are 28 sums, beside two registers of the panel and one of a row.
    constexpr int64_t mostRows = 14, blockBytes = 512 * 1024, fewTiles = 20;
    int64_t tiles = llvm::divideCeil(sizes.rows, mostRows);
    rows = llvm::divideCeil(sizes.rows, tiles);
    tiles = llvm::divideCeil(sizes.rows, rows);
    panels = llvm::divideCeil(sizes.columns, kWidth);
    int64_t terms = sizes.terms(), parts = llvm::divideCeil(terms, kMostTerms);
    termsOfPart = llvm::divideCeil(terms, parts);
    int64_t most =
        sizes.packsInItems()
            ? mostThatPack(tiles * panels / threads, fewTiles)
            : std::min(blockBytes / (rows * termsOfPart * 4), fewTiles);
    tilesOfBlock = llvm::divideCeil(tiles, llvm::divideCeil(tiles, most));
    rowBlocks = llvm::divideCeil(tiles, tilesOfBlock);
  }

private:
  /// The most tiles of a block that packs its panels, if each thread has
  /// `share` of all tiles of all panels. A block of few tiles packs often, but
  /// a thread has two items before another has none.
  static int64_t mostThatPack(int64_t share, int64_t fewTiles) {
    constexpr int64_t mostTiles = 80, items = 12, fewestItems = 2;
    return std::clamp(share / items,
                      std::clamp<int64_t>(share / fewestItems, 1, fewTiles),
                      mostTiles);
  }
};

/// Smaller ones fill no tiles. Of f32 it is those alone whose left matrix is
/// transposed, as that of a gradient of weights: the library is slow at them.
inline bool MatmulSizes::areOurs() const {
  // With fewer columns of single numbers packing takes more than is won
  // (docs/internals/matmul.md).
  constexpr int64_t least = 64, fewestOfSingles = 192;
  bool pays = ofPairs ? inner % 2 == 0 && columns >= MatmulTiles::kWidth
                      : leftIsTransposed && columns >= fewestOfSingles;
  return pays && rows >= least && inner >= least;
}

} // namespace gradus
