// The session writes the times of a graph's commands into memory of ours.

#include "tool/bench/command_times.h"

#include "messages/printable.h"
#include "runtime/flat.h"
#include "tool/inspect/expected_time.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"

#include <algorithm>

using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace gradus::cli {

double median(std::vector<double> values) {
  if (values.empty())
    return 0;
  auto middle = values.begin() + values.size() / 2;
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

const artifact::GraphPlan &planOf(const Session &session, int graph) {
  const auto &plans = *session.plan().graphs();
  uint32_t i = 0;
  while (plans.Get(i)->graph() != static_cast<uint32_t>(graph))
    ++i;
  return *plans.Get(i);
}

//===-- measuring ---------------------------------------------------------===//

CommandTimes::CommandTimes(Session &session, std::vector<TimedGraph> graphs)
    : session_(session), graphs_(std::move(graphs)) {
  for (const TimedGraph &each : graphs_) {
    size_t commands = session.graphs()[each.graph].commands.size();
    now_.emplace_back(commands);
    before_.emplace_back(commands);
  }
  for (size_t i = 0; i < graphs_.size(); ++i)
    session.timeCommands(graphs_[i].graph, now_[i]);
}

CommandTimes::~CommandTimes() {
  for (const TimedGraph &each : graphs_)
    session_.timeCommands(each.graph, {});
}

static bool isMeasured(int64_t nanoseconds) { return nanoseconds != 0; }

StatusOr<CommandTimes::Call>
CommandTimes::call(int graph, const std::vector<const void *> &inputs) {
  for (std::vector<int64_t> &times : now_)
    std::fill(times.begin(), times.end(), 0);
  GRADUS_TRY(session_.step(graph, inputs));
  for (size_t i = 0; i < graphs_.size(); ++i) {
    if (std::none_of(now_[i].begin(), now_[i].end(), isMeasured))
      continue;
    for (size_t command = 0; command < now_[i].size(); ++command)
      before_[i][command].push_back(static_cast<double>(now_[i][command]));
    return Call{graphs_[i].graph, now_[i]};
  }
  return Call{graph, {}}; // A variant ran, whose commands are others.
}

std::vector<TimedGraph> CommandTimes::medians() const {
  std::vector<TimedGraph> graphs = graphs_;
  for (size_t i = 0; i < graphs.size(); ++i) {
    for (const std::vector<double> &times : before_[i])
      graphs[i].nanoseconds.push_back(median(times));
    graphs[i].inCalls = before_[i];
  }
  return graphs;
}

//===-- telling -----------------------------------------------------------===//

void addBandwidth(ordered_json &json, double bytes, double nanoseconds,
                  const std::optional<DeviceRates> &rates) {
  double perSecond = bytes / std::max(1.0, nanoseconds) * 1e9;
  json["gb_per_s"] = perSecond * 1e-9;
  if (rates)
    json["of_bandwidth"] = perSecond / rates->bytes;
}

std::string percentText(const ordered_json &share) {
  return number("%.1f%%", share.get<double>() * 100);
}

namespace {

/// The nanoseconds of a graph in all calls of a step.
double sumOf(const TimedGraph &graph) {
  double sum = 0;
  for (double each : graph.nanoseconds)
    sum += each;
  return sum * static_cast<double>(graph.calls);
}

ordered_json commandJson(const CommandInfo &command, double nanoseconds) {
  double time = std::max(1.0, nanoseconds);
  return {{"name", command.name},
          {"kind", command.kind},
          {"us", time * 1e-3},
          {"share", 0},
          {"flops", command.flops},
          {"bytes", command.bytes},
          {"gflop_per_s", static_cast<double>(command.flops) / time},
          {"nodes", command.nodes}};
}

void addCommands(ordered_json &all, const Session &session,
                 const TimedGraph &timed, double total,
                 const std::optional<DeviceRates> &rates) {
  const GraphInfo &graph = session.graphs()[timed.graph];
  const artifact::GraphPlan &plan = planOf(session, timed.graph);
  for (size_t i = 0; i < graph.commands.size(); ++i) {
    const CommandInfo &command = graph.commands[i];
    double time = std::max(1.0, timed.nanoseconds[i]);
    ordered_json json = commandJson(command, time);
    json["share"] =
        timed.nanoseconds[i] * static_cast<double>(timed.calls) / total;
    addBandwidth(json, static_cast<double>(command.bytes), time, rates);
    if (rates)
      json["of_peak"] = static_cast<double>(command.flops) / time * 1e9 /
                        mostFlops(*plan.commands()->Get(i), *rates);
    all.push_back(std::move(json));
  }
}

/// The commands of one graph, or of a step that has one.
std::string tableOfCommands(const ordered_json &result,
                            const std::string &graph) {
  bool known = result.contains("bandwidth");
  std::vector<std::string> columns = {"#",     "command", "kind",   "time",
                                      "share", "GB/s",    "GFLOP/s"};
  if (known) {
    columns.insert(columns.end() - 1, "of bandwidth");
    columns.push_back("of peak");
  }
  Table table(columns);
  int i = 0;
  for (const ordered_json &command : result["commands"]) {
    if (command.value("graph", "") != graph)
      continue;
    std::vector<std::string> row = {
        std::to_string(i++),
        command["name"],
        command["kind"],
        durationText(command["us"].get<double>() * 1e-6),
        percentText(command["share"]),
        number("%.1f", command["gb_per_s"].get<double>())};
    if (known)
      row.push_back(percentText(command["of_bandwidth"]));
    row.push_back(number("%.1f", command["gflop_per_s"].get<double>()));
    if (known)
      row.push_back(percentText(command["of_peak"]));
    table.row(row);
  }
  return table.text();
}

} // namespace

void addCommandTimes(ordered_json &result, const Session &session,
                     const std::vector<TimedGraph> &graphs,
                     const std::optional<DeviceRates> &rates) {
  double total = 0;
  for (const TimedGraph &each : graphs)
    total += sumOf(each);
  total = std::max(1.0, total);
  bool areVariants = graphs.size() > 1;
  ordered_json commands = ordered_json::array();
  for (const TimedGraph &each : graphs) {
    const std::string &name = session.graphs()[each.graph].name;
    size_t first = commands.size();
    addCommands(commands, session, each, total, rates);
    for (size_t i = first; areVariants && i < commands.size(); ++i)
      commands[i]["graph"] = name;
    if (areVariants)
      result["variants"].push_back({{"graph", name},
                                    {"calls", each.calls},
                                    {"us", sumOf(each) * 1e-3},
                                    {"share", sumOf(each) / total}});
  }
  result["commands"] = std::move(commands);
}

std::string textOfCommands(const ordered_json &result) {
  if (!result.contains("variants"))
    return tableOfCommands(result, "");
  Table table(
      {"variant", "calls of a step", "time of a call", "of a step", "share"});
  std::string commands;
  for (const ordered_json &variant : result["variants"]) {
    double seconds = variant["us"].get<double>() * 1e-6;
    int64_t calls = variant["calls"].get<int64_t>();
    std::string name = variant["graph"].get<std::string>();
    table.row({name, std::to_string(calls),
               durationText(seconds / static_cast<double>(calls)),
               durationText(seconds), percentText(variant["share"])});
    absl::StrAppend(&commands, "\n", printable(name), ", ", calls,
                    calls == 1 ? " call" : " calls",
                    " of a step; times of one call, shares of the step\n",
                    tableOfCommands(result, name));
  }
  return table.text() + commands;
}

} // namespace gradus::cli
