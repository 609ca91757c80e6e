// Runs the steps of a graph again and again, and notes what they take.

#pragma once

#include "runtime/session/session.h"
#include "tool/bench/command_times.h"
#include "tool/bench/measured_sums.h"
#include "tool/bench/step_trace.h"
#include "tool/session/ranks.h"

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace gradus::cli {

/// The ranks that are measured, and where their sums are noted.
struct MeasuredRanks {
  const Ranks &ranks;
  std::chrono::steady_clock::time_point first;
  std::shared_ptr<MeasuredSums> sums; // null: one rank alone
};

/// Measures one graph on made-up inputs that stay where they are.
class Measurement {
public:
  Measurement(runtime::Session &session, int graph, double seconds,
              const MeasuredRanks &ranks);
  /// Seconds of a step, of each call of `steps` steps, for `share` of the time.
  std::vector<double> measure(int64_t steps, double share = 1);
  /// The times of the commands of all graphs that a step runs.
  std::vector<TimedGraph> measureCommands();
  /// Microseconds that each of some steps costs the host.
  std::vector<double> measureHost();
  /// The costs of sums over ranks for a step: the medians of some steps.
  SumCosts measureSums();
  /// The value of rank 0 on all ranks.
  double agreed(double value) const;
  /// Some steps, the first half as they are, then command by command.
  std::vector<TracedStep> trace();

private:
  /// The graphs that a step runs, with the calls of each: of one turn the graph
  /// itself, whichever variant is next.
  std::vector<TimedGraph> graphsOfStep();
  double hostNanoseconds(); // of a step
  TracedStep traced(CommandTimes *times);

  runtime::Session &session_;
  int graph_;
  int64_t turns_; // calls of a step
  double seconds_;
  const MeasuredRanks &ranks_;
  std::vector<std::vector<uint8_t>> memory_;
  std::vector<const void *> inputs_; // of one step
};

} // namespace gradus::cli
