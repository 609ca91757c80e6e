// Ranks that are threads of one process: for simulation and tests.
//
// The bytes are copied by the thread that comes last. With a network, a
// transfer ends only when one of that bandwidth and latency would have brought
// it; the ranks sleep meanwhile.

#pragma once

#include "runtime/collectives/communicator.h"
#include "runtime/collectives/network.h"

namespace gradus::runtime {

/// One opener for each rank, in their order, each to be called once. The group
/// lives as long as any of its communicators.
std::vector<OpenCommunicator> inProcess(int ranks, Network network = {});

} // namespace gradus::runtime
