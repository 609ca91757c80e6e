// A network between ranks: what a simulated one makes them wait for, and what a
// sum takes on one that is not there.

#pragma once

#include "runtime/collectives/collective.h"

#include <chrono>

namespace gradus::runtime {

/// The network. Each rank sends over a link of its own, one transfer after the
/// other.
struct Network {
  double bytesPerSecond = 0; // 0: as fast as memory
  std::chrono::nanoseconds latency{0};
};

/// The link over which a rank sends.
class Link {
public:
  using Time = std::chrono::steady_clock::time_point;

  /// The moment at which the bytes of a transfer that begins now have arrived.
  Time arrival(const Network &network, Time now, uint64_t bytes);

private:
  Time isFree_;
};

/// How long the ranks exchange an allReduce, an allGather or a groupReduce over
/// the network, if all of them begin it at once, as a simulation makes them
/// wait. Adding up, and what the memory of the host takes, comes on top.
std::chrono::nanoseconds allReduceTime(const Network &network,
                                       const Collective &collective, int ranks);

} // namespace gradus::runtime
