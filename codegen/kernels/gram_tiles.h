// Divides the rows and the columns of a gram into items for threads, and items
// into tiles that are packed and multiplied one after another.
#pragma once

#include "ir/gram_sizes.h"

namespace gradus {

/// An item has one block and one of `parts` equal parts of the tiles of rows.
/// A tile has the columns of a block, rounded up to whole squares, and the rows
/// at `extent` positions of dimension `dim` of the rows and at all positions of
/// the dimensions after it.
struct GramTiles {
  int64_t side;    // of the squares in which products are computed
  int64_t columns; // of a tile
  unsigned dim;
  int64_t extent;
  int64_t rows;  // of a tile
  int64_t steps; // tiles of all rows
  int64_t parts, stepsOfPart;

  GramTiles(const GramSizes &sizes, int64_t elementBytes) {
    // Measured: squares of 32 take a tenth longer, as they compute more below
    // the diagonal, and those of 24 half as long again.
    side = std::min<int64_t>(sizes.block, 16);
    columns = llvm::alignTo(sizes.block, side);
    divideRows(sizes, elementBytes);
    divideSteps(sizes);
  }

  int64_t squares() const { return columns / side; }
  /// The tiles along `dim`.
  int64_t tilesAlong(const GramSizes &sizes) const {
    return llvm::divideCeil(sizes.rows[dim], extent);
  }

private:
  /// A tile is at most 128 KiB and 512 rows, as many whole dimensions as fit.
  void divideRows(const GramSizes &sizes, int64_t elementBytes) {
    constexpr int64_t mostBytes = 128 * 1024, mostRows = 512;
    int64_t most = std::clamp<int64_t>(mostBytes / (columns * elementBytes), 1,
                                       mostRows),
            inner = 1;
    dim = sizes.rows.size() - 1;
    while (dim > 0 && inner * sizes.rows[dim] <= most)
      inner *= sizes.rows[dim--];
    int64_t along = std::max<int64_t>(sizes.rows[dim], 1),
            tiles = llvm::divideCeil(along, std::max<int64_t>(most / inner, 1));
    extent = llvm::divideCeil(along, tiles);
    rows = extent * inner;
    steps = tilesAlong(sizes);
    for (unsigned d = 0; d < dim; ++d)
      steps *= sizes.rows[d];
  }

  /// Few blocks are divided if that gives work to more threads, and each part
  /// is worth its share of the sum of all parts.
  void divideSteps(const GramSizes &sizes) {
    constexpr int64_t wantedItems = 32, leastSteps = 4;
    int64_t all = std::max<int64_t>(sizes.groups * sizes.blocks, 1),
            wanted = std::min<int64_t>(llvm::divideCeil(wantedItems, all),
                                       steps / leastSteps);
    stepsOfPart = llvm::divideCeil(steps, std::max<int64_t>(wanted, 1));
    parts = llvm::divideCeil(steps, stepsOfPart);
  }
};

} // namespace gradus
