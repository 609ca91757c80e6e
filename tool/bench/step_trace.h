// Steps as a file for ui.perfetto.dev and chrome://tracing.

#pragma once

#include "runtime/session/session.h"
#include "tool/bench/measured_sums.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace gradus::cli {

/// One call of a step, in nanoseconds of one clock.
struct TracedStep {
  int64_t start = 0, end = 0;
  std::vector<int64_t> commands;      // times of each; empty: not measured
  std::vector<MeasuredSum> sums = {}; // over ranks
};

/// Steps of a graph in the Trace Event Format (times in microseconds): a track
/// of the steps as the caller sees them, one of their commands, one after the
/// other within the step, and a counter of the arena's bytes in use; of the
/// thread that communicates too, if steps have sums over ranks. `live` has one
/// number for each command, or none.
nlohmann::ordered_json stepTrace(const runtime::GraphInfo &graph,
                                 const std::string &title,
                                 const std::vector<TracedStep> &steps,
                                 const std::vector<uint64_t> &live);

} // namespace gradus::cli
