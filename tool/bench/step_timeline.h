// The time of a step on ranks that are not there: its commands, as they were
// measured, on a clock that these and the sums over ranks move.

#pragma once

#include "runtime/artifact_generated.h"
#include "runtime/collectives/collective.h"
#include "runtime/collectives/network.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gradus::cli {

/// A command of a step.
struct TimelineCommand {
  enum Kind { computes, begins, waits };
  Kind kind = computes;
  double seconds = 0;                         // if it computes
  uint64_t number = 0;                        // of what it begins or waits for
  std::vector<runtime::Collective> sums = {}; // that it begins
};

/// The commands of a graph of a verified plan; `nanoseconds` are the measured
/// times of all of them. Those of commands that begin sums or wait for them do
/// not count.
std::vector<TimelineCommand> timelineOf(const artifact::Plan &plan,
                                        const artifact::GraphPlan &graph,
                                        std::span<const double> nanoseconds);

/// Whether a graph begins sums over ranks.
bool hasSums(const artifact::GraphPlan &graph);

/// The rate at which a rank's own processor adds and copies for sums.
struct SumRate {
  double bytesPerSecond = 0; // of what is sent; 0: this takes no time
  double seconds = 0;        // for each sum, whatever its size
};

/// The ranks of a prediction.
struct PredictedRanks {
  int count = 1;
  runtime::Network network = {};
  SumRate rate = {};
  int threads = 1; // of each rank, which compute
};

/// A step, in seconds.
struct PredictedStep {
  uint64_t bytesSent = 0; // by rank 0
  double computed = 0;    // by commands
  double transferred = 0; // the time in which a sum was under way
  double exposed = 0;     // the part of it in which commands waited
  double added = 0; // by which additions beside commands make these longer

  double seconds() const { return computed + exposed + added; }
};

/// Lets commands follow each other. Sums take their turns behind one another,
/// as in the thread that communicates, each from when it is begun and its turn
/// comes: as long as the network takes or the additions, whichever is longer.
/// What is added while commands run takes its time from the threads that run
/// them.
PredictedStep predictStep(const std::vector<TimelineCommand> &commands,
                          const PredictedRanks &ranks);

/// The longest of so many durations on average, in parts of the median, if they
/// are drawn from those that were measured. 1 of none.
double slowestOf(int64_t count, std::vector<double> measured);

} // namespace gradus::cli
