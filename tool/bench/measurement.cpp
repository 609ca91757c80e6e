// The calls of rank 0 decide how often all ranks repeat a step.

#include "tool/bench/measurement.h"

#include "tool/failure.h"
#include "tool/session/session_options.h"
#include "tool/session/synthetic_inputs.h"
#include "tool/text.h"

#include <algorithm>

using namespace gradus::runtime;
using Clock = std::chrono::steady_clock;

namespace gradus::cli {

namespace {

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

} // namespace

Measurement::Measurement(Session &session, int graph, double seconds,
                         const MeasuredRanks &ranks)
    : session_(session), graph_(graph), turns_(callsPerStep(session, graph)),
      seconds_(seconds), ranks_(ranks),
      memory_(syntheticInputs(session, graph)) {
  for (const auto &bytes : memory_)
    inputs_.push_back(bytes.data());
}

std::vector<double> Measurement::measure(int64_t steps, double share) {
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

double Measurement::agreed(double value) const {
  return ranks_.ranks.isAlone()
             ? value
             : std::stod(ranks_.ranks.fromFirst(number("%.17g", value)));
}

SumCosts Measurement::measureSums() {
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

std::vector<TimedGraph> Measurement::graphsOfStep() {
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

std::vector<TimedGraph> Measurement::measureCommands() {
  CommandTimes times(session_, graphsOfStep());
  Repetition repetition(ranks_.ranks, seconds_);
  while (repetition.goesOn())
    for (int64_t turn = 0; turn < turns_; ++turn)
      take(times.call(graph_, inputs_));
  return times.medians();
}

double Measurement::hostNanoseconds() {
  double all = 0;
  for (int64_t turn = 0; turn < turns_; ++turn)
    all += static_cast<double>(take(session_.hostTime(graph_)));
  return all;
}

std::vector<double> Measurement::measureHost() {
  constexpr int kSteps = 50;
  std::vector<double> microseconds;
  auto until = Clock::now() + std::chrono::duration<double>(seconds_ / 2);
  do
    microseconds.push_back(hostNanoseconds() * 1e-3);
  while (microseconds.size() < kSteps && Clock::now() < until);
  return microseconds;
}

/// Runs a step, by command if there is something to note their times.
TracedStep Measurement::traced(CommandTimes *times) {
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

std::vector<TracedStep> Measurement::trace() {
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

} // namespace gradus::cli
