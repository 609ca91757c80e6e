// gradus bench: how long a step takes and where the time goes.

#include "messages/json_text.h"
#include "messages/printable.h"
#include "runtime/flat.h"
#include "runtime/session/place.h"
#include "runtime/well_known.h"
#include "tool/bench/command_times.h"
#include "tool/bench/measurement.h"
#include "tool/bench/prediction.h"
#include "tool/bench/step_trace.h"
#include "tool/bench/sum_rate.h"
#include "tool/commands.h"
#include "tool/failure.h"
#include "tool/inspect/arena_timeline.h"
#include "tool/inspect/device_rates.h"
#include "tool/inspect/transfer_costs.h"
#include "tool/number_options.h"
#include "tool/output_files.h"
#include "tool/report/page.h"
#include "tool/session/random_states.h"
#include "tool/session/ranks.h"
#include "tool/session/run_length.h"
#include "tool/session/session_options.h"
#include "tool/session/shared_artifact.h"
#include "tool/session/synthetic_inputs.h"
#include "tool/text.h"

#include "absl/strings/str_cat.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>

using namespace gradus::runtime;
using nlohmann::ordered_json;
using Clock = std::chrono::steady_clock;

namespace gradus::cli {
namespace {

struct BenchOptions {
  SessionOptions session;
  RankOptions ranks;
  RankRange predicted;
  std::string graph = well_known::kTrain, trace, report;
  double seconds = 2;
  int64_t stepsPerCall = 0; // as many as there is time for
  bool randomStates = false;
};

constexpr const char *kFooter =
    R"(Inputs are made up; a step costs the same whatever they are. A third of
--seconds each, in turns: step by step, many steps in one call; then by command.

On a GPU, `launches` are the kernels, copies and records of a step's graph, those
of library calls too, and `host` is what a step costs the host: until the call
that begins it is back, with its inputs in place. GB/s are the bytes that a
command needs at least by its time; the two % are their part of the memory's
bandwidth, and that of its FLOPs of the most there are (of f32, or of 16-bit
products in a library): those of a card by its data sheet (of cards that are
known), those of this machine as measured before.

On ranks (--ranks, --simulate-ranks, a launcher) the sums of a step are
measured, too: the bytes that rank 0 sends, the time in which a sum is under way,
how much of it commands hide, and the rest, for which the step waits. Where a
process has several logical ranks, a step is all of their turns: a table says how
often it calls each variant and what that takes, and each has its commands.

--ranks N..M --network RATE,TIME predicts steps on more ranks than there are, each
with a batch of its own, from the commands that were measured: sums travel over the
network while commands run, and all wait for the slowest rank, whose time is that of
the slowest of so many measured calls. With --ranks N the commands are measured
while N processes run.

Times of weights and optimizer slots that are zeros are too short. --random-states
fills them with numbers as they are in training.

--trace writes some steps for ui.perfetto.dev or chrome://tracing: as the caller
sees them, then with the time of each command, the model's nodes that it came
from, and the arena's bytes in use.

Examples:
  gradus bench lenet.gradus --threads 2
  gradus bench lenet.gradus --trace step.json
  gradus bench lenet.gradus --ranks 2..256 --network 25GB/s,5us)";

TracedGraph tracedGraph(const Session &session, int graph) {
  const GraphInfo &info = session.graphs()[graph];
  auto map =
      memoryMap(session.artifact(), session.plan(), planOf(session, graph));
  return {info, arenaTimeline(map, info.commands.size()).live};
}

void writeTrace(const Session &session, const std::vector<TracedStep> &steps,
                const BenchOptions &options) {
  std::map<int, TracedGraph> graphs;
  for (const TracedStep &step : steps)
    for (const TracedCall &call : step.calls)
      if (!graphs.contains(call.graph))
        graphs.emplace(call.graph, tracedGraph(session, call.graph));
  std::string title =
      options.session.artifact + ", " + textOf(session.plan().target());
  writeWhole(options.trace,
             jsonText(stepTrace(options.graph, title, steps, graphs)));
}

constexpr int kRounds = 5;
constexpr int64_t kMostStepsPerCall = 100;

void append(std::vector<double> &all, const std::vector<double> &more) {
  all.insert(all.end(), more.begin(), more.end());
}

ordered_json timing(const std::vector<double> &seconds) {
  return {{"ms_min", *std::min_element(seconds.begin(), seconds.end()) * 1e3},
          {"ms_median", median(seconds) * 1e3},
          {"calls", seconds.size()}};
}

/// Returns the rates of the device that runs the plan; none of an unknown GPU.
std::optional<DeviceRates> ratesOf(const Session &session) {
  const artifact::Plan &plan = session.plan();
  if (isOfKind(textOf(plan.target()), "cpu"))
    return ratesOfMachine(session.threads(),
                          plan.state_bytes() + plan.arena_bytes());
  const DeviceRates *card = findCard(session.runsOn());
  return card ? std::optional(*card) : std::nullopt;
}

/// "45.1 GB/s, 38.2% of 118 GB/s (this machine, measured just now ...)"
std::string bandwidthText(const ordered_json &result) {
  const ordered_json &call = result["call"];
  std::string text, most;
  if (result.contains("bandwidth")) {
    const ordered_json &bandwidth = result["bandwidth"];
    most = number("%.0f GB/s", bandwidth["gb_per_s"].get<double>()) + " (" +
           bandwidth["device"].get<std::string>() + ", " +
           bandwidth["source"].get<std::string>() + ")";
  }
  if (!call.contains("gb_per_s"))
    return most;
  text = number("%.1f GB/s", call["gb_per_s"].get<double>());
  return most.empty()
             ? text
             : text + ", " + percentText(call["of_bandwidth"]) + " of " + most;
}

void print(const ordered_json &result) {
  auto line = [&](const std::string &what, const char *key) {
    const ordered_json &timing = result[key];
    std::printf("%s: min %s, median %s\n", what.c_str(),
                durationText(timing["ms_min"].get<double>() / 1e3).c_str(),
                durationText(timing["ms_median"].get<double>() / 1e3).c_str());
  };
  int ranks = result["ranks"].get<int>();
  std::printf("%s of %s, %s%s\n",
              printable(result["graph"].get<std::string>()).c_str(),
              printable(result["artifact"].get<std::string>()).c_str(),
              ranks > 1 ? absl::StrCat(ranks, " ranks of ").c_str() : "",
              printable(result["device"].get<std::string>()).c_str());
  line("step by step   ", "step");
  line(absl::StrCat(result["call"]["steps"].get<size_t>(), " steps in a call"),
       "call");
  if (result.contains("sums"))
    std::printf("sums, of a step  : %s\n", textOfSums(result["sums"]).c_str());
  if (result.contains("launches"))
    std::printf("launches, a step : %zu\n", result["launches"].get<size_t>());
  if (result.contains("host"))
    std::printf(
        "host, of a step  : min %s, median %s\n",
        durationText(result["host"]["us_min"].get<double>() / 1e6).c_str(),
        durationText(result["host"]["us_median"].get<double>() / 1e6).c_str());
  if (std::string text = bandwidthText(result); !text.empty())
    std::printf("memory           : %s\n", printable(text).c_str());
  if (result.contains("prediction"))
    std::fputs(textOfPrediction(result["prediction"]).c_str(), stdout);
  if (result.contains("turns"))
    std::printf("turns, of a step : %lld\n", result["turns"].get<long long>());
  std::fputs(textOfCommands(result).c_str(), stdout);
}

/// Writes what was found as a page, whose text is UTF-8 as a model's need not
/// be.
void writeReport(const Session &session, const ordered_json &result,
                 const std::string &path) {
  ordered_json data = reportHead("bench");
  data["producer"] = textOf(session.artifact().header().producer());
  data.update(result);
  writeWhole(path, reportText(path, utf8Json(data)));
}

/// Step by step and many in a call, in turns, because the speed of a machine
/// changes from second to second.
void measureSteps(Measurement &bench, const BenchOptions &options,
                  ordered_json &result) {
  bench.measure(1, 0); // warm
  double once = bench.agreed(bench.measure(1, 0).front());
  auto fitting = [&](double parts, double most) {
    double steps = options.seconds / 3 / parts / once;
    return static_cast<int64_t>(std::clamp(steps, 1.0, most));
  };
  // A call has fewer steps if they are slow, so that a round ends in time. If
  // the user sets the number of steps, there are fewer rounds instead.
  int64_t steps = options.stepsPerCall ? options.stepsPerCall
                                       : fitting(kRounds, kMostStepsPerCall);
  int64_t rounds = fitting(static_cast<double>(steps), kRounds);
  std::vector<double> step, call;
  for (int64_t round = 0; round < rounds; ++round) {
    append(step, bench.measure(1, 1.0 / rounds));
    append(call, bench.measure(steps, 1.0 / rounds));
  }
  result["step"] = timing(step);
  result["call"] = timing(call);
  result["call"]["steps"] = steps;
}

ordered_json hostJson(const std::vector<double> &microseconds) {
  return {
      {"us_min", *std::min_element(microseconds.begin(), microseconds.end())},
      {"us_median", median(microseconds)},
      {"steps", microseconds.size()}};
}

/// Then some steps are others, of fewer bytes.
bool hasVariants(const Session &session, const std::string &graph) {
  const auto *schedules = session.artifact().header().schedules();
  for (size_t i = 0; i < countOf(schedules); ++i)
    if (textOf(schedules->Get(i)->graph()) == graph)
      return true;
  return false;
}

/// The prediction that is asked for, beside the ranks that run.
Prediction predictionOf(const BenchOptions &options, const Ranks &ranks) {
  bool hasNetwork = options.ranks.network.bytesPerSecond > 0;
  if (options.ranks.simulate > 0)
    return {};
  if (options.predicted.isGiven()) {
    if (!hasNetwork)
      throw badInput("--ranks ", options.predicted.first, "..",
                     options.predicted.last,
                     ": predicts steps on a network, which is missing; give "
                     "it as --network 25GB/s,5us");
    return {options.predicted.counts(), options.ranks.network};
  }
  if (hasNetwork && ranks.isAlone())
    throw badInput("--network: needs ranks that use it: --ranks 2..256 to "
                   "predict steps, or --simulate-ranks N");
  if (hasNetwork)
    return {{ranks.count()}, options.ranks.network};
  return {};
}

/// Refuses graphs of which no one step can be predicted, and ranks on which
/// nothing trains, before anything is measured.
void checkPredicted(const Session &session, int graph, const std::string &name,
                    const Prediction &asked) {
  const std::string &path = session.artifact().path();
  for (int64_t count : asked.counts)
    if (count > 1)
      check(
          at(verifyTrainsOn(session.artifact().header(), session.plan(), count),
             path));
  if (callsPerStep(session, graph) > 1)
    throw badInput(path, ": has logical ranks, whose steps are not predicted; "
                         "compile without distribution.logical_ranks");
  if (hasVariants(session, name)) {
    std::string variants;
    for (const GraphInfo &each : session.graphs())
      if (each.name.starts_with(name + "_"))
        absl::StrAppend(&variants, variants.empty() ? "" : ", ", each.name);
    throw badInput(path, ": has several variants of ", name,
                   ", whose steps take different times; --graph predicts one "
                   "of ",
                   variants);
  }
  if (hasSums(planOf(session, graph)))
    return;
  for (size_t other = 0; other < session.graphs().size(); ++other)
    if (hasSums(planOf(session, static_cast<int>(other))))
      throw badInput(path, ": ", name, " sums nothing over ranks; ",
                     session.graphs()[other].name, " does (--graph)");
  throw sumsNothing(path);
}

/// Predicts steps from the measured commands of a session's graph.
ordered_json predicted(const Prediction &asked, const Session &session,
                       const TimedGraph &commands, double alone) {
  return predictionJson(asked, session.plan(), planOf(session, commands.graph),
                        {commands, alone, session.threads()}, measureSumRate());
}

ordered_json measureAll(Session &session, int graph, Measurement &bench,
                        const BenchOptions &options, const Ranks &ranks) {
  ordered_json result = {{"artifact", options.session.artifact},
                         {"graph", options.graph},
                         {"target", textOf(session.plan().target())},
                         {"device", session.runsOn()},
                         {"threads", session.threads()}};
  auto rates = ratesOf(session);
  if (rates) {
    result["bandwidth"] = {{"device", rates->device},
                           {"source", rates->source()},
                           {"gb_per_s", rates->bytes * 1e-9}};
    result["peak"] = {{"gflop_per_s", rates->flops * 1e-9},
                      {"product_gflop_per_s", rates->productFlops * 1e-9}};
  }
  measureSteps(bench, options, result);
  const GraphInfo &info = session.graphs()[graph];
  double bytes = 0;
  for (const CommandInfo &command : info.commands)
    bytes += command.bytes;
  if (!hasVariants(session, options.graph))
    for (const char *key : {"step", "call"})
      addBandwidth(result[key], bytes,
                   result[key]["ms_min"].get<double>() * 1e6, rates);
  if (!ranks.isAlone())
    result["sums"] = bench.measureSums().toJson();
  if (size_t launches = session.launches(graph))
    result["launches"] = launches;
  if (!isOfKind(textOf(session.plan().target()), "cpu"))
    result["host"] = hostJson(bench.measureHost());
  if (int64_t turns = callsPerStep(session, graph); turns > 1)
    result["turns"] = turns;
  std::vector<TimedGraph> commands = bench.measureCommands();
  if (Prediction asked = predictionOf(options, ranks);
      !asked.counts.empty() && ranks.isFirst())
    result["prediction"] = predicted(
        asked, session, commands[0],
        ranks.isAlone() ? result["step"]["ms_median"].get<double>() / 1e3 : 0);
  addCommandTimes(result, session, commands, rates);
  return result;
}

/// A step on NaN or infinity may have another speed than a useful step. Where a
/// process alone measures an artifact for several ranks, its numbers mean
/// nothing, as it has no others' parts of them.
void noteNonfinite(const Session &session, int graph, const Ranks &ranks) {
  if (ranks.isAlone() && session.artifact().header().ranks() > 1)
    return;
  const std::vector<TensorInfo> &outputs = session.graphs()[graph].outputs;
  for (size_t i = 0; i < outputs.size(); ++i) {
    float value = 0;
    if (outputs[i].type == TensorType{DType::f32, {}})
      std::memcpy(&value, session.outputBuffer(graph, static_cast<int>(i)),
                  sizeof(value));
    if (!std::isfinite(value))
      warn(outputs[i].name + " is " + number("%g", value) +
           " after the steps: what was measured is not a step of a training");
  }
}

void run(BenchOptions options, const Ranks &ranks) {
  checkOutputFiles({{"--trace", options.trace}, {"--report", options.report}},
                   initialFiles(options.session));
  if (!options.report.empty())
    checkReportName(options.report);
  options.session = optionsOfRank(options.session, ranks);
  options.session.onAnyRanks = true;
  if (!ranks.isFirst())
    options.trace = options.report = "";
  checkWritable({options.trace, options.report});
  Prediction asked = predictionOf(options, ranks);
  MeasuredRanks measured{ranks, Clock::now(), nullptr};
  if (!ranks.isAlone())
    measured.sums =
        std::make_shared<MeasuredSums>(ranks.thread(), measured.first);
  auto session = openSession(options.session, measured.sums);
  if (options.graph == well_known::kTrain && !ranks.isAlone())
    checkTrainsOnRanks(ranks, *session);
  shareArtifact(ranks, *session);
  assumeRunLength(*session);
  int graph = findGraph(*session, options.graph);
  if (!asked.counts.empty())
    checkPredicted(*session, graph, options.graph, asked);
  if (options.randomStates)
    randomizeStates(*session);
  Measurement bench(*session, graph, options.seconds / 3, measured);
  ordered_json result = measureAll(*session, graph, bench, options, ranks);
  result["ranks"] = ranks.count();
  noteNonfinite(*session, graph, ranks);
  if (bool traces = ranks.fromFirst(options.trace) != ""; traces) {
    std::vector<TracedStep> steps = bench.trace();
    if (ranks.isFirst())
      writeTrace(*session, steps, options);
  }
  if (!ranks.isFirst())
    return;
  if (options.session.json)
    printJson(result);
  else
    print(result);
  if (!options.report.empty())
    writeReport(*session, result, options.report);
}

} // namespace

void addBench(CLI::App &app) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App *command =
      app.add_subcommand("bench", "How long a step takes, command by command");
  command->footer(kFooter);
  addSessionOptions(*command, options->session);
  addStateOptions(*command, options->session);
  command->add_option("--graph", options->graph, "Which graph (train)");
  command->add_option("--seconds", options->seconds, "How long to measure (2)")
      ->check(secondsBetween(0.01, 3600));
  command
      ->add_option("--steps-per-call", options->stepsPerCall,
                   "In one call (100; fewer where they take long)")
      ->check(positive());
  command->add_flag("--random-states", options->randomStates,
                    "Fill weights and slots with random numbers first");
  command->add_option("--trace", options->trace,
                      "Write some steps to this file, for ui.perfetto.dev");
  command->add_option("--report", options->report,
                      "Write a page with the figures: FILE.html, or .json");
  addRankOptions(*command, options->ranks, &options->predicted);
  command->callback([options] {
    runOnRanks(options->ranks,
               [&](const Ranks &ranks) { run(*options, ranks); });
  });
}

} // namespace gradus::cli
