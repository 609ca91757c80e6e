// Steps as a file for ui.perfetto.dev and chrome://tracing.

#pragma once

#include "runtime/session/session.h"
#include "tool/bench/measured_sums.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace gradus::cli {

/// A graph that ran, with the times of its commands, in nanoseconds.
struct TracedCall {
  int graph = 0;
  int64_t start = 0;
  std::vector<int64_t> commands; // of each
};

/// A step, in nanoseconds of one clock.
struct TracedStep {
  int64_t start = 0, end = 0;
  std::vector<TracedCall> calls = {}; // of each turn; empty: not measured
  std::vector<MeasuredSum> sums = {}; // over ranks
};

/// The facts of a graph that ran: `live` are the arena's bytes in use at each
/// command, or nothing.
struct TracedGraph {
  runtime::GraphInfo info;
  std::vector<uint64_t> live = {};
};

/// Steps of a graph in the Trace Event Format (times in microseconds): a track
/// of the steps as the caller sees them, one of their commands, one after the
/// other within the step, and a counter of the arena's bytes in use; of the
/// thread that communicates too, if steps have sums over ranks. Steps of
/// several turns have these within them. `graphs` has those that ran.
nlohmann::ordered_json stepTrace(const std::string &name,
                                 const std::string &title,
                                 const std::vector<TracedStep> &steps,
                                 const std::map<int, TracedGraph> &graphs);

} // namespace gradus::cli
