// The places in memory where the kernel of a scan finds the elements of
// tensors, and its division of the rows of a batch.
#pragma once

#include "codegen/plan/nest.h"

namespace gradus {

using ScanIndices = llvm::SmallVector<mlir::AffineExpr>;

/// Scratch of an item above which the rest lies in memory of the step.
constexpr int64_t kMostScanScratch = 512 << 10;

/// The place of a tensor's elements in a buffer: each lies at `start` plus its
/// index, behind the indices `lead`.
struct ScanPlace {
  mlir::Value buffer;
  ScanIndices lead = {};
  llvm::SmallVector<int64_t> start = {}; // empty: zeros
  bool isOfItem = false;                 // scratch, with the rows of one item
  bool isMade = false; // written here: only by the item's own rows

  bool operator==(const ScanPlace &other) const {
    return buffer == other.buffer && lead == other.lead && start == other.start;
  }
};

/// A tensor in a segment, seen by the index map of a nest.
struct ScanRead {
  ScanPlace place;
  mlir::AffineMap map;
};

/// The map of a nest over the elements of a tensor.
inline mlir::AffineMap everyElement(mlir::Type type) {
  return mlir::AffineMap::getMultiDimIdentityMap(
      llvm::cast<mlir::RankedTensorType>(type).getRank(), type.getContext());
}

/// The rows of an item: all if they are fewer than 8, else a divisor of them
/// between 4 and 8 if there is one, so that weights are read for several rows
/// and many threads have items.
inline int64_t rowsOfItem(int64_t rows) {
  if (rows == 8)
    return 4; // two items
  for (int64_t size = std::min<int64_t>(rows, 8); size >= 4; --size)
    if (rows % size == 0)
      return size;
  for (int64_t size = 9; size < rows; ++size)
    if (rows % size == 0)
      return size;
  return rows;
}

/// The columns of a panel: as few whole vectors of f32 as give a tile of `rows`
/// enough sums that none waits for the one before, so that the panel stays in
/// the first cache; all if no number of vectors divides them. Products of pairs
/// take longer.
inline int64_t panelWidth(int64_t columns, int64_t rows, bool ofPairs) {
  constexpr int64_t lanes = 16, most = 4 * lanes;
  int64_t sums = ofPairs ? 16 : 8, width = 0;
  for (int64_t wide = most; wide >= lanes; wide -= lanes)
    if (columns % wide == 0 && (!width || rows * wide >= sums * lanes))
      width = wide;
  return width ? width : columns;
}

/// How the rows of a batch are divided: `all` is 0 if a nest mixes them.
struct ScanRows {
  int64_t all, own, items;
  explicit ScanRows(int64_t rows)
      : all(rows), own(rows ? rowsOfItem(rows) : 0),
        items(rows ? rows / own : 1) {}
};

} // namespace gradus
