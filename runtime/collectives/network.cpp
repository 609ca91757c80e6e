// Goes through the rounds and pieces of sum_tree.cpp, on a clock that nothing
// moves but transfers.

#include "runtime/collectives/network.h"

#include "runtime/collectives/group_rounds.h"
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

/// The time of one rank in a round of a reduction in groups. A rank sends as
/// much as it receives, or nothing; then it waits for what the other one sends.
static Link::Time endOfRound(const Network &network, const GroupRounds &rounds,
                             const GroupRound &round,
                             const Collective &collective) {
  const Groups &groups = *collective.groups;
  Link link;
  Link::Time now;     // when the next piece is sent
  Link::Time arrived; // when those that were sent have arrived
  if (round.kind == GroupRound::products)
    for (size_t i = round.first; i < round.last; ++i)
      arrived = link.arrival(network, now,
                             GroupRounds::productsOf(groups) * sizeof(double));
  if (round.kind == GroupRound::products || round.first == round.last)
    return arrived;
  GroupPieces pieces;
  uint64_t width = bytesOf(collective.type);
  pieces.set(rounds, round, groups.members.size(), width);
  for (size_t piece = 0; piece < pieces.count(); ++piece) {
    Link::Time last = now;
    for (size_t i = round.first; i < round.last; ++i) {
      GroupExchange exchange = rounds.exchange(i);
      std::span<const Slice> slices = pieces.slices(piece);
      uint64_t elements = std::max(elementsOf(slices, exchange.send),
                                   elementsOf(slices, exchange.receive));
      if (elements)
        last = link.arrival(network, now, elements * width);
    }
    now = arrived; // The next piece is under way while this one is waited for.
    arrived = std::max(last, arrived);
  }
  return arrived;
}

/// The time of rank 0, which takes part in all rounds.
static std::chrono::nanoseconds groupReduceTime(const Network &network,
                                                const Collective &collective,
                                                int ranks) {
  GroupRounds rounds;
  rounds.set(collective, knownWithin(*collective.groups, ranks), ranks, 0);
  std::chrono::nanoseconds time{0};
  for (const GroupRound &round : rounds.rounds())
    time += endOfRound(network, rounds, round, collective).time_since_epoch();
  return time;
}

std::chrono::nanoseconds
allReduceTime(const Network &network, const Collective &collective, int ranks) {
  if (collective.op == CollectiveOp::groupReduce)
    return groupReduceTime(network, collective, ranks);
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
