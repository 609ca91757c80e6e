// Transposes on a GPU: data that is contiguous along one dimension when read
// and along another when written goes through shared memory in square tiles,
// one per block, so that both reads and writes are coalesced.
//
// A tile has kWarp times `vector` points each way. Threads read vectors of the
// transposed inputs along the dimension in which these are contiguous and store
// them in rows of one element more than a tile has (so that the elements of a
// column are in different banks); after a barrier they load columns.
#pragma once

#include "codegen/plan/nest_access.h"

namespace gradus {

struct TurnedTiles {
  int written = -1, read = -1; // the dimensions; -1: no transpose
  int64_t vector = 1;

  explicit operator bool() const { return read >= 0; }
  int64_t side() const;
  /// The elements in shared memory for one input.
  int64_t elements() const { return side() * (side() + 1); }
  /// The number of tiles along each parallel dimension; along all but the two
  /// dimensions a tile has one position.
  llvm::SmallVector<int64_t> counts(const Nest &nest) const;
  bool isTurned(const Access &access) const;
};

/// Finds the tiles of a nest that is alone in its kernel.
TurnedTiles findTurned(const Nest &nest);

} // namespace gradus
