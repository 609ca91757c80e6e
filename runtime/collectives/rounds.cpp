// Halving, doubling and direct exchange, as lists of ranges.

#include "runtime/collectives/rounds.h"

#include "runtime/collectives/group_rounds.h"

#include <bit>

namespace gradus::runtime {

namespace {

bool isPowerOfTwo(int number) {
  return std::has_single_bit(static_cast<unsigned>(number));
}

/// Adds rounds to those of one collective on one rank.
struct Filler {
  Rounds &rounds;
  const Collective &collective;
  int ranks, rank;

  Range part(int of) const {
    return partOf(collective.count, collective.type, ranks, of);
  }
  Range whole() const { return {0, collective.count}; }

  void begin(bool combines) {
    rounds.rounds.push_back(
        {rounds.exchanges.size(), rounds.exchanges.size(), combines});
  }
  void add(int peer, Range send, Range receive) {
    rounds.exchanges.push_back({peer, send, receive});
    ++rounds.rounds.back().last;
  }

  /// Sends whole buffers along the tree, and those of all where it has a rank
  /// without a partner.
  void reduceWhole() {
    if (isPowerOfTwo(ranks)) {
      for (int bit = 1; bit < ranks; bit <<= 1) {
        begin(true);
        add(rank ^ bit, whole(), whole());
      }
      return;
    }
    begin(true);
    for (int peer = 0; peer < ranks; ++peer)
      if (peer != rank)
        add(peer, whole(), whole());
  }

  /// Halves the kept range with one partner after the other, then doubles it
  /// with the same ones in the reverse order.
  void reduceByHalves() {
    Range kept = whole();
    size_t first = rounds.exchanges.size();
    for (int bit = 1; bit < ranks; bit <<= 1) {
      Range lower = half(kept, 0), upper = half(kept, 1);
      kept = rank & bit ? upper : lower;
      begin(true);
      add(rank ^ bit, rank & bit ? lower : upper, kept);
    }
    for (size_t last = rounds.exchanges.size(); last > first; --last) {
      Exchange halving = rounds.exchanges[last - 1];
      begin(false);
      add(halving.peer, halving.receive, halving.send);
    }
  }
  Range half(Range range, int which) const {
    Range half = partOf(range.count(), collective.type, 2, which);
    return {range.begin + half.begin, range.begin + half.end};
  }

  void scatterDirectly() {
    begin(true);
    for (int peer = 0; peer < ranks; ++peer)
      if (peer != rank)
        add(peer, part(peer), part(rank));
  }

  void gatherDirectly() {
    begin(false);
    for (int peer = 0; peer < ranks; ++peer)
      if (peer != rank)
        add(peer, part(rank), part(peer));
  }

  /// Doubles the parts that a rank has, which stay adjacent.
  void gatherByDoubling() {
    auto parts = [&](int of, int bit) -> Range {
      int first = of & ~(bit - 1);
      return {part(first).begin, part(first + bit - 1).end};
    };
    for (int bit = 1; bit < ranks; bit <<= 1) {
      begin(false);
      add(rank ^ bit, parts(rank, bit), parts(rank ^ bit, bit));
    }
  }

  /// Sends the buffer down a binomial tree whose ranks count from the root.
  void broadcast() {
    int own = (rank - collective.root + ranks) % ranks;
    auto named = [&](int counted) {
      return (counted + collective.root) % ranks;
    };
    int below =
        own ? own & -own
            : static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks)));
    if (own) {
      begin(false);
      add(named(own - below), {}, whole());
    }
    begin(false);
    for (int bit = below >> 1; bit; bit >>= 1)
      if (own + bit < ranks)
        add(named(own + bit), whole(), {});
  }

  void reduce() {
    if (collective.count * bytesOf(collective.type) <= kSmallBytes)
      return reduceWhole();
    if (isPowerOfTwo(ranks))
      return reduceByHalves();
    scatterDirectly();
    gatherDirectly();
  }

  void fill() {
    switch (collective.op) {
    case CollectiveOp::allReduce:
      return reduce();
    case CollectiveOp::reduceScatter:
      return scatterDirectly();
    case CollectiveOp::allGather:
      return isPowerOfTwo(ranks) ? gatherByDoubling() : gatherDirectly();
    case CollectiveOp::broadcast:
      return broadcast();
    case CollectiveOp::groupReduce:
      return; // It has rounds of another kind.
    }
  }
};

} // namespace

void Rounds::set(const Collective &collective, int ranks, int rank) {
  exchanges.clear();
  rounds.clear();
  if (ranks > 1)
    Filler{*this, collective, ranks, rank}.fill();
}

uint64_t bytesSent(const Collective &collective, int ranks, int rank) {
  if (collective.op == CollectiveOp::groupReduce)
    return bytesSentInGroups(collective, ranks, rank);
  Rounds rounds;
  rounds.set(collective, ranks, rank);
  uint64_t elements = 0;
  for (const Exchange &exchange : rounds.exchanges)
    elements += exchange.send.count();
  return elements * bytesOf(collective.type);
}

} // namespace gradus::runtime
