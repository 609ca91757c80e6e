// Transposes: what reads along one dimension and writes along another goes
// through shared memory, a square tile of points a block, so that neighbouring
// threads read neighbours and write neighbours.
//
// A tile has kWarp times `vector` points each way. Threads read vectors of the
// turned inputs along the dimension where they lie, put them down in rows of
// one more element than a tile has (so that a column's elements are in
// different banks), and behind a barrier take up columns.
#pragma once

#include "codegen/nest_access.h"

namespace gradus {

struct TurnedTiles {
  int written = -1, read = -1; // the dimensions; -1: nothing is turned
  int64_t vector = 1;

  explicit operator bool() const { return read >= 0; }
  int64_t side() const;
  /// Elements in shared memory of an input.
  int64_t elements() const { return side() * (side() + 1); }
  /// Tiles along each parallel dimension: one a position along others.
  llvm::SmallVector<int64_t> counts(const Nest &nest) const;
  bool isTurned(const Access &access) const;
};

/// Of a nest alone in its kernel.
TurnedTiles findTurned(const Nest &nest);

} // namespace gradus
