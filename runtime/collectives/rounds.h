// The rounds of a collective: which elements a rank exchanges with which
// others. All that is sent is written here, so its bytes are known before.
//
// Sums are one fixed tree, ((0+1)+(2+3))+((4+5)+(6+7)): adjacent ranks first,
// and a last one without a partner goes up as it is. In a round that combines,
// each member of a group has the value of a subtree for the same elements, and
// the members' values are combined by that same tree in the order of ranks. So
// every way below gives each element the same bits.

#pragma once

#include "runtime/collectives/collective.h"

#include <vector>

namespace gradus::runtime {

/// The elements that a rank sends to another and receives from it.
struct Exchange {
  int peer = 0;
  Range send, receive;
};

/// Exchanges that happen at once: [first, last) of Rounds::exchanges, in the
/// order of peers.
struct Round {
  size_t first = 0, last = 0;
  /// Whether what is received is combined with the own elements; all receive
  /// the same ones then. Otherwise it takes their place.
  bool combines = false;
};

/// The rounds of one collective on one rank; an object is filled again and
/// again, so that it seldom allocates.
struct Rounds {
  std::vector<Exchange> exchanges;
  std::vector<Round> rounds;

  /// Sets the rounds of a collective that was checked.
  ///  * Powers of two exchange halves with ranks that differ in one bit, the
  ///    lowest first (recursive halving), and gather in the reverse order.
  ///  * Other numbers of ranks, and reduceScatter, whose parts lie in the order
  ///    of ranks, send each part straight to the rank that combines it.
  ///  * An allReduce of at most kSmallBytes sends whole buffers: fewer rounds
  ///    and more bytes.
  void set(const Collective &collective, int ranks, int rank);
};

constexpr uint64_t kSmallBytes = 4096;

/// The number of bytes that a rank sends for a collective: 2 n (N - 1) / N for
/// a large allReduce of n bytes among N ranks, to within the limits of parts.
uint64_t bytesSent(const Collective &collective, int ranks, int rank);

} // namespace gradus::runtime
