// The commands of the slowest rank move the clock.

#include "tool/bench/prediction.h"

#include "tool/inspect/transfer_costs.h"
#include "tool/network.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"

#include <numeric>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {

namespace {

/// The seconds that the commands which compute take in each call.
std::vector<double> computedInCalls(const TimedGraph &measured,
                                    const std::vector<TimelineCommand> &line) {
  size_t calls = measured.inCalls.empty() ? 0 : measured.inCalls[0].size();
  std::vector<double> seconds(calls);
  for (size_t command = 0; command < line.size(); ++command)
    for (size_t call = 0; call < calls; ++call)
      if (line[command].kind == TimelineCommand::computes)
        seconds[call] += measured.inCalls[command][call] * 1e-9;
  return seconds;
}

void scale(std::vector<TimelineCommand> &line, double factor) {
  for (TimelineCommand &command : line)
    command.seconds *= factor;
}

double sumOf(const std::vector<TimelineCommand> &line) {
  return std::accumulate(line.begin(), line.end(), 0.0,
                         [](double sum, const TimelineCommand &command) {
                           return sum + command.seconds;
                         });
}

ordered_json stepJson(int64_t count, const PredictedStep &step, double slowest,
                      double alone) {
  return {{"ranks", count},
          {"ms_step", step.seconds() * 1e3},
          {"ms_computed", step.computed * 1e3},
          {"ms_exposed", step.exposed * 1e3},
          {"ms_added", step.added * 1e3},
          {"ms_transferred", step.transferred * 1e3},
          {"bytes_sent", step.bytesSent},
          {"slowest", slowest},
          {"efficiency", alone / step.seconds()}};
}

} // namespace

ordered_json predictionJson(const Prediction &asked, const artifact::Plan &plan,
                            const artifact::GraphPlan &graph,
                            const MeasuredStep &measured, const SumRate &rate) {
  std::vector<TimelineCommand> line =
      timelineOf(plan, graph, measured.commands.nanoseconds);
  std::vector<double> calls = computedInCalls(measured.commands, line);
  // The time between the commands of a step belongs to them, and that of
  // measuring them does not.
  if (double sum = sumOf(line); measured.seconds > 0 && sum > 0)
    scale(line, measured.seconds / sum);
  double alone = sumOf(line) * slowestOf(1, calls);
  ordered_json steps = ordered_json::array();
  for (int64_t count : asked.counts) {
    double slowest = slowestOf(count, calls);
    std::vector<TimelineCommand> slow = line;
    scale(slow, slowest);
    PredictedStep step = predictStep(slow, {.count = static_cast<int>(count),
                                            .network = asked.network,
                                            .rate = rate,
                                            .threads = measured.threads});
    steps.push_back(stepJson(count, step, slowest, alone));
  }
  ordered_json network = networkJson(asked.network);
  if (isGroupedByHost(plan))
    network["hosts"] = 1;
  return {{"network", std::move(network)},
          {"sum_rate",
           {{"gb_per_s", rate.bytesPerSecond * 1e-9},
            {"us_of_each", rate.seconds * 1e6}}},
          {"calls", calls.size()},
          {"ms_alone", alone * 1e3},
          {"is_measured_alone", measured.seconds > 0},
          {"steps", std::move(steps)}};
}

std::string textOfPrediction(const ordered_json &prediction) {
  auto time = [](const ordered_json &step, const char *key) {
    return durationText(step[key].get<double>() * 1e-3);
  };
  Table table({"ranks", "step", "computes", "waits", "adds", "busiest sends",
               "slowest", "efficiency"});
  for (const ordered_json &step : prediction["steps"])
    table.row({std::to_string(step["ranks"].get<int64_t>()),
               time(step, "ms_step"), time(step, "ms_computed"),
               time(step, "ms_exposed"), time(step, "ms_added"),
               bytesText(step["bytes_sent"].get<double>()),
               number("%.2fx", step["slowest"].get<double>()),
               percentText(step["efficiency"])});
  return absl::StrCat(
      "predicted, each rank with a batch of its own, at ",
      networkText(prediction["network"]),
      prediction["is_measured_alone"].get<bool>()
          ? "; one rank alone takes "
          : "; without its sums one of the ranks that ran takes ",
      durationText(prediction["ms_alone"].get<double>() * 1e-3), "\n",
      table.text(),
      "  `slowest`: the commands of the slowest rank by the median of ",
      prediction["calls"].get<size_t>(),
      " measured calls;\n"
      "  `waits`: for sums that no command hides; `adds`: additions that hold "
      "up commands\n");
}

} // namespace gradus::cli
