// Goes through the rounds and pieces of sum_tree.cpp, on a clock that nothing
// moves but transfers.

#include "runtime/collectives/network.h"

#include "runtime/collectives/sum_tree.h"

#include <algorithm>

namespace gradus::runtime {

Link::Time Link::arrival(const Network &network, Time now, uint64_t bytes) {
  if (network.bytesPerSecond <= 0)
    return now + network.latency;
  std::chrono::duration<double> lasts(static_cast<double>(bytes) /
                                      network.bytesPerSecond);
  isFree_ = std::max(now, isFree_) +
            std::chrono::duration_cast<Time::duration>(lasts);
  return isFree_ + network.latency;
}

/// The time of one rank. What it receives comes from ranks that send as much at
/// the same time, and so arrives when what it sends does.
static Link::Time endOfRound(const Network &network, const Rounds &rounds,
                             const Round &round, uint64_t width) {
  Link link;
  Link::Time now;     // when the next piece is sent
  Link::Time arrived; // when those that were sent have arrived
  SumTree::Pieces pieces(rounds, round, width);
  for (uint64_t piece = 0; piece < pieces.count; ++piece) {
    Link::Time last = now;
    for (size_t i = round.first; i < round.last; ++i)
      if (Range range = pieces.of(rounds.exchanges[i].send, piece);
          range.count())
        last = link.arrival(network, now, range.count() * width);
    now = arrived; // The next piece is under way while this one is waited for.
    arrived = std::max(last, arrived);
  }
  return arrived;
}

std::chrono::nanoseconds
allReduceTime(const Network &network, const Collective &collective, int ranks) {
  // Parts are equal, but the last may be shorter, so that the first rank or the
  // last one sends most.
  Rounds first, last;
  first.set(collective, ranks, 0);
  last.set(collective, ranks, ranks - 1);
  std::chrono::nanoseconds time{0};
  for (size_t i = 0; i < first.rounds.size(); ++i) {
    auto end = [&](const Rounds &rounds) {
      return endOfRound(network, rounds, rounds.rounds[i],
                        bytesOf(collective.type));
    };
    time += std::max(end(first), end(last)).time_since_epoch();
  }
  return time;
}

} // namespace gradus::runtime
