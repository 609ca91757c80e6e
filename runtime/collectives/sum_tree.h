// Runs collectives over a communicator, with the bits of one fixed tree
// (runtime/collectives/rounds.h) whatever the transport does.
//
// Bytes that are received to be added come in pieces: the next one is on its
// way while the last one is added, which is in the cache then. The memory for
// two pieces of all partners has a fixed size, kScratchBytes.

#pragma once

#include "runtime/collectives/group_tree.h"
#include "runtime/collectives/liveness.h"
#include "runtime/collectives/rounds.h"

#include <optional>

namespace gradus::runtime {

class SumTree {
public:
  static constexpr size_t kScratchBytes = size_t{1} << 20;

  /// The pieces in which the ranges of a round are exchanged.
  struct Pieces {
    /// `width` is the bytes of an element.
    Pieces(const Rounds &rounds, const Round &round, uint64_t width);

    Range of(Range range, uint64_t piece) const;

    uint64_t bytes;    // of a piece, at most
    uint64_t elements; // of a piece, at most
    uint64_t count;    // in the longest range
  };

  explicit SumTree(Liveness &liveness);

  /// Runs a collective that all ranks run, in the same order. The error is the
  /// group's: then the buffer's values are undefined, and no transfer of it may
  /// be under way once the communicator has left.
  Status run(const Collective &collective);

private:
  Status runRound(const Collective &collective, const Round &round);
  Status begin(const Collective &collective, const Round &round,
               uint64_t piece);
  void add(const Collective &collective, const Round &round, uint64_t piece);
  uint8_t *received(const Round &round, size_t exchange, uint64_t piece) const;

  Liveness &liveness_;
  GroupTree groups_;
  Rounds rounds_;
  std::optional<Pieces> pieces_; // of the round that runs
  std::unique_ptr<uint8_t[]> scratch_;
  std::vector<Liveness::Flight>
      flights_[2]; // of pieces with even and odd numbers
  std::vector<uint8_t *> values_;
};

} // namespace gradus::runtime
