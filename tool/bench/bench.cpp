// gradus bench: how long a step takes and where the time goes.

#include "messages/json_text.h"
#include "messages/printable.h"
#include "runtime/flat.h"
#include "runtime/well_known.h"
#include "tool/bench/command_times.h"
#include "tool/bench/measured_sums.h"
#include "tool/bench/step_trace.h"
#include "tool/commands.h"
#include "tool/failure.h"
#include "tool/inspect/arena_timeline.h"
#include "tool/inspect/device_rates.h"
#include "tool/number_options.h"
#include "tool/output_files.h"
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
  std::string graph = well_known::kTrain, trace;
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

Times of weights and optimizer slots that are zeros are too short. --random-states
fills them with numbers as they are in training.

--trace writes some steps for ui.perfetto.dev or chrome://tracing: as the caller
sees them, then with the time of each command, the model's nodes that it came
from, and the arena's bytes in use.

Examples:
  gradus bench lenet.gradus --threads 2
  gradus bench lenet.gradus --trace step.json)";

/// Says how long something is repeated: on all ranks as often as on rank 0.
class Repetition {
public:
  Repetition(const Ranks &ranks, double seconds)
      : ranks_(ranks),
        until_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(seconds))) {}

  /// True at least once.
  bool goesOn() {
    bool own = first_ || Clock::now() < until_;
    first_ = false;
    return ranks_.isAlone() ? own : ranks_.fromFirst(own ? "1" : "") == "1";
  }

private:
  const Ranks &ranks_;
  Clock::time_point until_;
  bool first_ = true;
};

/// The ranks that are measured, and where their sums are noted.
struct MeasuredRanks {
  const Ranks &ranks;
  Clock::time_point first;
  std::shared_ptr<MeasuredSums> sums; // null: one rank alone
};

/// Measures one graph on made-up inputs that stay where they are.
class Bench {
public:
  Bench(Session &session, int graph, double seconds,
        const MeasuredRanks &ranks);
  /// Seconds of a step, of each call of `steps` steps, for `share` of the time.
  std::vector<double> measure(int64_t steps, double share = 1);
  /// The times of the commands of all graphs that a step runs.
  std::vector<TimedGraph> measureCommands();
  /// Microseconds that each of some steps costs the host.
  std::vector<double> measureHost();
  /// What sums over ranks cost a step: the medians of some steps.
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

  Session &session_;
  int graph_;
  int64_t turns_; // calls of a step
  double seconds_;
  const MeasuredRanks &ranks_;
  std::vector<std::vector<uint8_t>> memory_;
  std::vector<const void *> inputs_; // of one step
};

Bench::Bench(Session &session, int graph, double seconds,
             const MeasuredRanks &ranks)
    : session_(session), graph_(graph), turns_(callsPerStep(session, graph)),
      seconds_(seconds), ranks_(ranks),
      memory_(syntheticInputs(session, graph)) {
  for (const auto &bytes : memory_)
    inputs_.push_back(bytes.data());
}

std::vector<double> Bench::measure(int64_t steps, double share) {
  std::vector<const void *> inputs;
  for (int64_t i = 0; i < steps * turns_; ++i)
    inputs.insert(inputs.end(), inputs_.begin(), inputs_.end());
  auto call = [&] {
    check(steps == 1 ? runStep(session_, graph_, inputs_)
                     : session_.steps(graph_, steps * turns_, inputs, {}));
  };
  std::vector<double> seconds;
  Repetition repetition(ranks_.ranks, seconds_ * share);
  while (repetition.goesOn()) {
    auto began = Clock::now();
    call();
    seconds.push_back(
        std::chrono::duration<double>(Clock::now() - began).count() / steps);
  }
  if (ranks_.sums)
    ranks_.sums->take();
  return seconds;
}

double Bench::agreed(double value) const {
  return ranks_.ranks.isAlone()
             ? value
             : std::stod(ranks_.ranks.fromFirst(number("%.17g", value)));
}

SumCosts Bench::measureSums() {
  std::vector<double> sent, transferred, exposed;
  Repetition repetition(ranks_.ranks, seconds_ / 2);
  while (repetition.goesOn()) {
    check(runStep(session_, graph_, inputs_));
    SumCosts costs = costsOf(ranks_.sums->take());
    sent.push_back(static_cast<double>(costs.bytesSent));
    transferred.push_back(costs.transferred);
    exposed.push_back(costs.exposed);
  }
  SumCosts costs{static_cast<uint64_t>(median(sent)), median(transferred)};
  costs.exposed = std::min(costs.transferred, median(exposed));
  costs.hidden = costs.transferred - costs.exposed;
  return costs;
}

std::vector<TimedGraph> Bench::graphsOfStep() {
  if (turns_ == 1)
    return {{graph_}};
  std::vector<TimedGraph> graphs;
  for (int64_t turn = 0; turn < turns_; ++turn) {
    check(session_.step(graph_, inputs_));
    int ran = session_.lastVariant(graph_);
    auto known = std::ranges::find(graphs, ran, &TimedGraph::graph);
    if (known == graphs.end())
      graphs.push_back({ran});
    else
      ++known->calls;
  }
  return graphs;
}

std::vector<TimedGraph> Bench::measureCommands() {
  CommandTimes times(session_, graphsOfStep());
  Repetition repetition(ranks_.ranks, seconds_);
  while (repetition.goesOn())
    for (int64_t turn = 0; turn < turns_; ++turn)
      take(times.call(graph_, inputs_));
  return times.medians();
}

double Bench::hostNanoseconds() {
  double all = 0;
  for (int64_t turn = 0; turn < turns_; ++turn)
    all += static_cast<double>(take(session_.hostTime(graph_)));
  return all;
}

std::vector<double> Bench::measureHost() {
  constexpr int kSteps = 50;
  std::vector<double> microseconds;
  auto until = Clock::now() + std::chrono::duration<double>(seconds_ / 2);
  do
    microseconds.push_back(hostNanoseconds() * 1e-3);
  while (microseconds.size() < kSteps && Clock::now() < until);
  return microseconds;
}

/// Runs a step, by command if there is something to note their times.
TracedStep Bench::traced(CommandTimes *times) {
  auto now = [&] {
    return std::chrono::nanoseconds(Clock::now() - ranks_.first).count();
  };
  TracedStep step;
  step.start = now();
  if (!times)
    check(runStep(session_, graph_, inputs_));
  for (int64_t turn = 0; times && turn < turns_; ++turn) {
    int64_t start = now();
    CommandTimes::Call call = take(times->call(graph_, inputs_));
    if (!call.nanoseconds.empty())
      step.calls.push_back({call.graph, start, std::move(call.nanoseconds)});
  }
  step.end = now();
  if (ranks_.sums)
    step.sums = ranks_.sums->take();
  return step;
}

std::vector<TracedStep> Bench::trace() {
  constexpr int kSteps = 5;
  CommandTimes *none = nullptr;
  std::vector<TracedStep> steps;
  for (int i = 0; i < kSteps; ++i)
    steps.push_back(traced(none));
  CommandTimes times(session_, graphsOfStep());
  if (ranks_.sums)
    ranks_.sums->take(); // those of the step that graphsOfStep() has run
  for (int i = 0; i < kSteps; ++i)
    steps.push_back(traced(&times));
  return steps;
}

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
  if (result.contains("turns"))
    std::printf("turns, of a step : %lld\n", result["turns"].get<long long>());
  std::fputs(textOfCommands(result).c_str(), stdout);
}

/// Step by step and many in a call, in turns, because the speed of a machine
/// changes from second to second.
void measureSteps(Bench &bench, const BenchOptions &options,
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

ordered_json measureAll(Session &session, int graph, Bench &bench,
                        const BenchOptions &options, bool hasRanks) {
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
  if (hasRanks)
    result["sums"] = bench.measureSums().toJson();
  if (size_t launches = session.launches(graph))
    result["launches"] = launches;
  if (!isOfKind(textOf(session.plan().target()), "cpu"))
    result["host"] = hostJson(bench.measureHost());
  if (int64_t turns = callsPerStep(session, graph); turns > 1)
    result["turns"] = turns;
  addCommandTimes(result, session, bench.measureCommands(), rates);
  return result;
}

/// A step on NaN or infinity may have another speed than a useful step.
void noteNonfinite(const Session &session, int graph) {
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
  checkOutputFiles({{"--trace", options.trace}}, initialFiles(options.session));
  options.session = optionsOfRank(options.session, ranks);
  if (!ranks.isFirst())
    options.trace.clear();
  checkWritable({options.trace});
  MeasuredRanks measured{ranks, Clock::now(), nullptr};
  if (!ranks.isAlone())
    measured.sums =
        std::make_shared<MeasuredSums>(ranks.thread(), measured.first);
  auto session = openSession(options.session, measured.sums);
  if (options.graph == well_known::kTrain)
    checkTrainsOnRanks(ranks, *session);
  shareArtifact(ranks, *session);
  assumeRunLength(*session);
  int graph = findGraph(*session, options.graph);
  if (options.randomStates)
    randomizeStates(*session);
  Bench bench(*session, graph, options.seconds / 3, measured);
  ordered_json result =
      measureAll(*session, graph, bench, options, !ranks.isAlone());
  result["ranks"] = ranks.count();
  noteNonfinite(*session, graph);
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
  addRankOptions(*command, options->ranks);
  command->callback([options] {
    runOnRanks(options->ranks,
               [&](const Ranks &ranks) { run(*options, ranks); });
  });
}

} // namespace gradus::cli
