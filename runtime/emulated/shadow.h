// Records who accessed each element of a memory last, and when, to find races
// and missing barriers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::runtime::emulated {

/// A thread at a time. Threads of a block are synchronized by a barrier, those
/// of a warp also by a barrier of the warp, those of different blocks never.
struct Moment {
  int32_t block = -1, thread = -1; // -1: never
  uint32_t barriers = 0, warpBarriers = 0;

  bool isNever() const { return block < 0; }
  bool isSameThread(const Moment &other) const {
    return block == other.block && thread == other.thread;
  }
  /// Whether this moment, which was before `now` in this run, is before it in
  /// every order in which the threads could have run.
  bool isBefore(const Moment &now) const;
};

/// The accesses to a memory, with a cell for each element.
class Shadow {
public:
  /// Starts anew for a memory of `bytes` bytes; `element` is the smallest
  /// number of bytes that is accessed at once.
  void reset(int64_t bytes, int64_t element);

  /// Notes an access to `bytes` from `offset` on. Returns what is wrong with
  /// it, or an empty string: "is written while thread 3 of block 0 reads it
  /// ...".
  std::string read(int64_t offset, int64_t bytes, const Moment &now,
                   bool mustBeWritten);
  std::string write(int64_t offset, int64_t bytes, const Moment &now);

private:
  /// The last thread that wrote and, since then, the last that read; whether
  /// others have read too: of the reader's warp since its barrier, of other
  /// warps since the block's, of other blocks.
  struct Cell {
    Moment writer, reader;
    bool lanes = false, warps = false, blocks = false;

    void noteReader(const Moment &now);
    bool isReadBefore(const Moment &now) const;
  };
  std::vector<Cell> cells_;
  int64_t element_ = 1;
};

} // namespace gradus::runtime::emulated
