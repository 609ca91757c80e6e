// Steps on other numbers of ranks, and on a network that is not there, from the
// commands of a step that were measured.

#pragma once

#include "tool/bench/command_times.h"
#include "tool/bench/step_timeline.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace gradus::cli {

/// The steps that are to be predicted.
struct Prediction {
  std::vector<int64_t> counts; // of ranks, ascending; empty: nothing
  runtime::Network network;
};

/// The measured times of a step.
struct MeasuredStep {
  TimedGraph commands = {};
  double seconds = 0; // of a whole step of one rank alone; 0: not measured
  int threads = 1;    // that run commands
};

/// Predicts a step for each number of ranks, each with a batch of its own: the
/// step of the slowest rank, for which the others wait. `network`; `sum_rate`,
/// how fast this machine adds; `calls`, how often the commands were measured;
/// `ms_alone`, a step without sums on average, and `is_measured_alone`, whether
/// no other rank ran beside it;
/// `steps`, an object for each number: `ranks`, `ms_step` and what it consists
/// of (`ms_computed`, `ms_exposed`, `ms_added`), `ms_transferred`, `bytes_sent`
/// by rank 0, `slowest`, how many times as long as the median the commands of
/// the slowest rank take, and `efficiency`, the step of one rank by this one.
nlohmann::ordered_json predictionJson(const Prediction &asked,
                                      const artifact::Plan &plan,
                                      const artifact::GraphPlan &graph,
                                      const MeasuredStep &measured,
                                      const SumRate &rate);

/// The steps of such an object as a table.
std::string textOfPrediction(const nlohmann::ordered_json &prediction);

} // namespace gradus::cli
