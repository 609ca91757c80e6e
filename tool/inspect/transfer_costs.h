// Computes the costs of the sums over ranks of a plan on a network that is not
// there.

#pragma once

#include "runtime/artifact/artifact.h"
#include "runtime/collectives/network.h"
#include "tool/failure.h"

#include <nlohmann/json.hpp>

#include <string>

namespace gradus::cli {

/// Processes that sum over a network.
struct SummingRanks {
  int64_t count = 0;
  runtime::Network network;
};

/// Adds to the facts of an artifact (artifactJson()), as `network`, the ranks
/// and the network; to each bucket `bytes_sent` by rank 0, which sends most,
/// and `ms_transferred`, the time that its sums take with nothing else under
/// way; and to its graph `sums`, which adds them up. Of a graph that a step on
/// so many processes never runs nothing is told. A Failure where the artifact
/// sums nothing, or its logical ranks cannot be divided.
void addTransferCosts(nlohmann::ordered_json &facts,
                      const runtime::Artifact &artifact,
                      const SummingRanks &ranks);

/// Whether the ranks of a host are a group in sums of a plan. What these cost
/// is computed as if all ranks were on one host, as it is not known which are.
bool isGroupedByHost(const artifact::Plan &plan);

/// The failure of an artifact without sums, which no network delays.
Failure sumsNothing(const std::string &path);

/// Words for what is added as `network`: "4 ranks at 25 GB/s, 5.0 us".
std::string textOfNetwork(const nlohmann::ordered_json &network);
/// Words for what is added as `sums`: "The busiest rank sends 87.2 KiB in all;
/// 61.3 us under way, one bucket after the other."
std::string textOfTransfers(const nlohmann::ordered_json &sums);

} // namespace gradus::cli
