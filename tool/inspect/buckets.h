// Lists the buckets of a graph, which ranks sum together, in the order in which
// they begin, and what is computed while each travels.

#pragma once

#include "runtime/artifact/artifact.h"
#include "tool/inspect/device_rates.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gradus::cli {

/// An object for each bucket; empty if the graph has none. `hidden_ms` are the
/// expected times, on each device, of the commands between its `start` and
/// `finish`: what it takes longer than that is exposed.
nlohmann::ordered_json bucketsJson(const runtime::Artifact &artifact,
                                   const artifact::Plan &plan,
                                   const artifact::GraphPlan &graph,
                                   const std::vector<DeviceRates> &rates);

/// The buckets as a table, which has no other words for what JSON has.
std::string bucketsText(const nlohmann::ordered_json &buckets);

} // namespace gradus::cli
