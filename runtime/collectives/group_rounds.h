// The rounds of a reduction in groups: what a rank exchanges with which others,
// known before anything is sent.
//
// Each rank of a group of D reduces a D-th of each tensor, and combines it with
// those of the same place in other groups: in rounds that double, two ranks
// exchange halves of what they have, and each goes on with one. Dot products of
// whole tensors are sums over all ranks that have parts of them. Then the parts
// go back the same way. So each rank sends 2 n (N - 1) / N bytes, as for a sum.
//
// Neighbours make pairs if the number of groups is no power of two, from the
// first on, so many that the rest and one of each pair are a power of two, P.
// The first of a pair of groups of one rank then sends 2 n (P - 1) / P + 1.5 n
// bytes, and the second n.
//
// A reduction to parts, and the gathering of parts, are the first and the last
// of these rounds, of all ranks as one group.
//
// Halves are those of each tensor, so what a rank adds up does not depend on
// the tensors that travel with it.
#pragma once

#include "runtime/collectives/collective.h"

#include <algorithm>
#include <span>
#include <vector>

namespace gradus::runtime {

/// The elements of each tensor that a rank sends to another and receives.
struct GroupExchange {
  int peer = 0;
  std::span<const Range> send, receive; // by tensor; none: nothing
};

/// Exchanges that happen at once, in the order of peers.
struct GroupRound {
  enum Kind {
    sum,      // What is received is added to the own; all receive the same.
    halve,    // The received half of the lower group or the higher one takes
              // the place of the one that was sent.
    products, // Dot products are added to those of others.
    combine,  // The own half and the received one become one; nothing is sent.
    place,    // What is received takes the place of what was there.
  };
  Kind kind = place;
  size_t first = 0, last = 0; // of GroupRounds::exchanges
};

/// The rounds of one rank. An object is filled again and again, and seldom
/// allocates.
class GroupRounds {
public:
  /// Sets the rounds of a reduction that was checked, with `within` ranks in a
  /// group.
  void set(const Collective &collective, int within, int ranks, int rank);

  std::span<const GroupRound> rounds() const { return rounds_; }
  GroupExchange exchange(size_t index) const;
  /// The exchange of a round that halves.
  GroupExchange halving(const GroupRound &round) const {
    return exchange(round.first);
  }
  /// The dot products of a reduction: three for each vector.
  static size_t productsOf(const Groups &groups) {
    return 3 * (groups.across == Across::adasum ? groups.members.size() : 1);
  }

private:
  struct Filler;
  static constexpr size_t kNone = ~size_t{0};
  struct Entry {
    int peer;
    size_t send, receive; // lists of ranges_
  };

  std::span<const Range> list(size_t number) const;

  std::vector<GroupRound> rounds_;
  std::vector<Entry> entries_;
  std::vector<Range> ranges_; // lists of one range for each tensor
  size_t tensors_ = 0;
};

/// The elements [begin, end) of those that one tensor exchanges in a round.
struct Slice {
  size_t tensor;
  uint64_t begin, end;

  /// The same of a rank's range, which may have fewer.
  Range of(const Range &range) const;
};

/// The slices of a round, in pieces that travel one after the other.
class GroupPieces {
public:
  /// Sets the pieces of a round; `width` is the bytes of an element.
  void set(const GroupRounds &rounds, const GroupRound &round, size_t tensors,
           uint64_t width);

  size_t count() const { return ends_.size(); }
  std::span<const Slice> slices(size_t piece) const;
  /// The most bytes that one exchange of a piece has in one direction.
  uint64_t bytes() const { return bytes_; }

private:
  std::vector<Slice> slices_;
  std::vector<size_t> ends_; // in slices_, of each piece
  uint64_t bytes_ = 0;
};

/// The elements that a rank's ranges have in a piece.
uint64_t elementsOf(std::span<const Slice> slices,
                    std::span<const Range> ranges);

/// The number of ranks that each host has, by the host of each rank, of which
/// there is one at least. Refuses hosts that have unequal numbers, and ranks of
/// a host that are no neighbours.
StatusOr<int> ranksOfHosts(std::span<const std::string> hosts);

/// The bytes that a rank sends for a reduction.
uint64_t bytesSentInGroups(const Collective &collective, int ranks, int rank);

/// The ranks of a group, if they are those of a host and it is not known which
/// these are: all.
inline int knownWithin(const Groups &groups, int ranks) {
  return groups.within == 0 ? ranks : std::min(groups.within, ranks);
}

} // namespace gradus::runtime
