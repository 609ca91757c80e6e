// Measures the commands of a step, in all graphs that its turns run.

#pragma once

#include "runtime/session/session.h"
#include "tool/inspect/device_rates.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gradus::cli {

/// A graph that a step runs: of several turns a variant.
struct TimedGraph {
  int graph = 0;
  int64_t calls = 1;                             // of a step
  std::vector<double> nanoseconds = {};          // of each command, in a call
  std::vector<std::vector<double>> inCalls = {}; // of each, in each call
};

/// Times the commands of some graphs while it lives.
class CommandTimes {
public:
  CommandTimes(runtime::Session &session, std::vector<TimedGraph> graphs);
  ~CommandTimes();
  CommandTimes(const CommandTimes &) = delete;

  /// The graph that a call ran, and the time of each command; no commands if it
  /// ran none of the graphs.
  struct Call {
    int graph;
    std::vector<int64_t> nanoseconds;
  };
  /// Calls a graph, of which one of the graphs is a variant.
  runtime::StatusOr<Call> call(int graph,
                               const std::vector<const void *> &inputs);

  /// The graphs with the times of all calls, and the median of each command
  /// over them, so that what other processes take does not count.
  std::vector<TimedGraph> medians() const;

private:
  runtime::Session &session_;
  std::vector<TimedGraph> graphs_;
  std::vector<std::vector<int64_t>> now_;                // of the last call
  std::vector<std::vector<std::vector<double>>> before_; // of each command
};

/// The median; 0 of no values.
double median(std::vector<double> values);

/// Plans list graphs in an order of their own.
const artifact::GraphPlan &planOf(const runtime::Session &session, int graph);

/// Adds the rate of so many bytes in a time, and its part of the bandwidth.
void addBandwidth(nlohmann::ordered_json &json, double bytes,
                  double nanoseconds, const std::optional<DeviceRates> &rates);
/// "38.2%" of 0.382.
std::string percentText(const nlohmann::ordered_json &share);

/// Adds the times to what a bench has found: an object for each command in
/// `commands`, whose `us` are those of a call and whose `share` is that of the
/// step. Where a step has several turns, `graph` says of which graph it is, and
/// `variants` has the calls, the time and the share of each graph.
void addCommandTimes(nlohmann::ordered_json &result,
                     const runtime::Session &session,
                     const std::vector<TimedGraph> &graphs,
                     const std::optional<DeviceRates> &rates);
/// The tables of what it adds: one of the variants, if there are any, and one
/// of the commands of each.
std::string textOfCommands(const nlohmann::ordered_json &result);

} // namespace gradus::cli
