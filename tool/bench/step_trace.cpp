// Events of Chrome's Trace Event Format: "M" names tracks, "X" is a time span,
// "C" a counter.

#include "tool/bench/step_trace.h"

#include <algorithm>

using nlohmann::ordered_json;

namespace gradus::cli {

namespace {

constexpr int kSteps = 1, kCommands = 2, kSums = 3;

class Events {
public:
  void name(const char *what, int track, const std::string &name) {
    add("M", what, track)["args"] = {{"name", name}};
  }
  ordered_json &stretch(const std::string &name, int track, int64_t start,
                        int64_t nanoseconds) {
    ordered_json &event = add("X", name, track);
    event["ts"] = start * 1e-3;
    event["dur"] = nanoseconds * 1e-3;
    return event;
  }
  void count(const char *what, int64_t at, uint64_t bytes) {
    ordered_json &event = add("C", what, kCommands);
    event["ts"] = at * 1e-3;
    event["args"] = {{"bytes", bytes}};
  }
  ordered_json take() { return std::move(all_); }

private:
  ordered_json &add(const char *phase, const std::string &name, int track) {
    all_.push_back({{"ph", phase}, {"name", name}, {"pid", 1}, {"tid", track}});
    return all_.back();
  }

  ordered_json all_ = ordered_json::array();
};

void addSums(Events &events, const std::vector<MeasuredSum> &sums) {
  for (const MeasuredSum &sum : sums)
    events.stretch(sum.name, kSums, sum.started,
                   sum.ended - sum.started)["args"] = {
        {"bytes_sent", sum.bytesSent},
        {"queued_us", (sum.started - sum.begun) * 1e-3},
        {"exposed_us", sum.waited * 1e-3}};
}

bool hasSums(const TracedStep &step) { return !step.sums.empty(); }

/// Adds the commands of a call, and returns where the last one ends.
int64_t addCommands(Events &events, const TracedCall &call,
                    const TracedGraph &graph) {
  int64_t at = call.start;
  for (size_t i = 0; i < call.commands.size(); ++i) {
    const runtime::CommandInfo &command = graph.info.commands[i];
    ordered_json &event =
        events.stretch(command.name, kCommands, at, call.commands[i]);
    event["cat"] = command.kind;
    event["args"] = {{"command", i},
                     {"nodes", command.nodes},
                     {"flops", command.flops},
                     {"bytes", command.bytes}};
    if (i < graph.live.size())
      events.count("arena", at, graph.live[i]);
    at += call.commands[i];
  }
  if (!call.commands.empty() && !graph.live.empty())
    events.count("arena", at, 0);
  return at;
}

} // namespace

ordered_json stepTrace(const std::string &name, const std::string &title,
                       const std::vector<TracedStep> &steps,
                       const std::map<int, TracedGraph> &graphs) {
  Events events;
  events.name("process_name", kSteps, title);
  events.name("thread_name", kSteps, "steps");
  events.name("thread_name", kCommands, "commands");
  if (std::any_of(steps.begin(), steps.end(), hasSums))
    events.name("thread_name", kSums, "communication");
  int number = 0;
  for (const TracedStep &step : steps) {
    events.stretch(name + " " + std::to_string(number++), kSteps, step.start,
                   step.end - step.start)["args"] = {
        {"commands_timed", !step.calls.empty()}};
    addSums(events, step.sums);
    for (const TracedCall &call : step.calls) {
      const TracedGraph &graph = graphs.at(call.graph);
      int64_t end = addCommands(events, call, graph);
      if (step.calls.size() > 1)
        events.stretch(graph.info.name, kSteps, call.start, end - call.start);
    }
  }
  return {{"traceEvents", events.take()}, {"displayTimeUnit", "ms"}};
}

} // namespace gradus::cli
