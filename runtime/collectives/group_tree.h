// Runs reductions in groups over a communicator, with the same bits whatever
// the transport does and whichever tensors travel together.
//
// Each round goes piece by piece: the next one is on its way while the last one
// is worked on. A received half lies where the one that was sent has been, so
// there is memory for two pieces and for the products alone.
#pragma once

#include "runtime/collectives/adasum.h"
#include "runtime/collectives/group_rounds.h"
#include "runtime/collectives/liveness.h"

namespace gradus::runtime {

class GroupTree {
public:
  explicit GroupTree(Liveness &liveness) : liveness_(liveness) {}

  /// Runs a reduction that was checked, which all ranks run. The error is the
  /// group's; memory is then as after SumTree::run().
  Status run(const Collective &collective);

private:
  StatusOr<int> ranksWithin(const Groups &groups);
  Status runRound(const GroupRound &round);
  Status exchange(const GroupRound &round);
  Status begin(const GroupRound &round, size_t piece);
  void take(const GroupRound &round, size_t piece);
  Status addProducts(const GroupRound &round);

  uint8_t *at(size_t tensor, uint64_t element) const;
  uint8_t *spaceOf(const GroupRound &round, size_t piece, size_t exchange,
                   bool isSent);
  std::span<uint8_t> whole(std::span<const Slice> slices,
                           std::span<const Range> ranges) const;
  void pack(std::span<const Slice> slices, std::span<const Range> ranges,
            uint8_t *into) const;
  void unpack(std::span<const Slice> slices, std::span<const Range> ranges,
              const uint8_t *from) const;
  void addUp(const GroupRound &round, size_t piece);
  void keepHalf(const GroupRound &round, size_t piece);
  void totalProducts();
  void combineHalves(const GroupRound &halving);

  Liveness &liveness_;
  GroupRounds rounds_;
  GroupPieces pieces_; // of the round that runs
  std::vector<uint8_t> scratch_;
  std::vector<Liveness::Flight>
      flights_[2]; // of pieces with even and odd numbers
  std::vector<uint8_t *> values_;
  struct {
    const Collective *collective = nullptr;
    int within = 1;
    GroupRound halving; // the last one
  } now_;               // of the reduction that runs
  struct {
    std::vector<ProductSum> sums; // of each tensor
    std::vector<double> totals;   // of each vector: ab, aa, bb
    std::vector<double> received; // of the others
    std::vector<double> spilled;  // of each tensor: the last element of a half
                                  // that is longer than the one that was sent
  } products_;
  int ofHost_ = 0; // ranks of a host; 0: not known yet
};

} // namespace gradus::runtime
