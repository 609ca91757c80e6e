// Goes through the commands once for each number of ranks.

#include "tool/bench/step_timeline.h"

#include "runtime/collectives/rounds.h"
#include "runtime/commands/begun_collectives.h"
#include "runtime/flat.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>

using namespace gradus::runtime;

namespace gradus::cli {

std::vector<TimelineCommand> timelineOf(const artifact::Plan &plan,
                                        const artifact::GraphPlan &graph,
                                        std::span<const double> nanoseconds) {
  std::vector<TimelineCommand> commands;
  for (unsigned i = 0; i < countOf(graph.commands()); ++i) {
    const artifact::Command &command = *graph.commands()->Get(i);
    if (const auto *start = command.kind_as_StartCommand()) {
      commands.push_back({.kind = TimelineCommand::begins,
                          .number = start->number(),
                          .sums = begunCollectives(plan, *start)});
    } else if (const auto *finish = command.kind_as_FinishCommand()) {
      commands.push_back(
          {.kind = TimelineCommand::waits, .number = finish->number()});
    } else {
      commands.push_back({.seconds = nanoseconds[i] * 1e-9});
    }
  }
  return commands;
}

bool hasSums(const artifact::GraphPlan &graph) {
  for (unsigned i = 0; i < countOf(graph.commands()); ++i)
    if (graph.commands()->Get(i)->kind_as_StartCommand())
      return true;
  return false;
}

namespace {

/// The thread that communicates.
class Communication {
public:
  explicit Communication(const PredictedRanks &ranks) : ranks_(ranks) {}

  /// Begins some sums at a time.
  void begin(const TimelineCommand &command, double now) {
    Turn turn{.begun = std::max(now, isFree_)};
    for (const Collective &sum : command.sums) {
      uint64_t bytes = bytesSent(sum, ranks_.count, 0);
      step_.bytesSent += bytes;
      std::chrono::duration<double> network =
          allReduceTime(ranks_.network, sum, ranks_.count);
      double added =
          ranks_.rate.bytesPerSecond > 0
              ? static_cast<double>(bytes) / ranks_.rate.bytesPerSecond
              : 0;
      turn.added += added;
      turn.takes += std::max(network.count(), added) + ranks_.rate.seconds;
    }
    isFree_ = turn.begun + turn.takes;
    turns_[command.number] = turn;
  }

  /// Waits for sums from a time on; returns when they have ended.
  double wait(uint64_t number, double now) {
    const Turn &turn = turns_[number];
    double end = turn.begun + turn.takes;
    double exposed = std::clamp(end - now, 0.0, turn.takes);
    step_.transferred += turn.takes;
    step_.exposed += std::max(0.0, end - now);
    if (turn.takes > 0)
      step_.added +=
          turn.added * (1 - exposed / turn.takes) / std::max(1, ranks_.threads);
    return std::max(now, end);
  }

  PredictedStep step() const { return step_; }

private:
  struct Turn {
    double begun = 0, takes = 0, added = 0;
  };

  const PredictedRanks &ranks_;
  std::map<uint64_t, Turn> turns_;
  double isFree_ = 0;
  PredictedStep step_;
};

} // namespace

PredictedStep predictStep(const std::vector<TimelineCommand> &commands,
                          const PredictedRanks &ranks) {
  Communication communication(ranks);
  double now = 0, computed = 0;
  for (const TimelineCommand &command : commands)
    switch (command.kind) {
    case TimelineCommand::computes:
      now += command.seconds;
      computed += command.seconds;
      break;
    case TimelineCommand::begins:
      if (ranks.count > 1)
        communication.begin(command, now);
      break;
    case TimelineCommand::waits:
      if (ranks.count > 1)
        now = communication.wait(command.number, now);
      break;
    }
  PredictedStep step = communication.step();
  step.computed = computed;
  return step;
}

double slowestOf(int64_t count, std::vector<double> measured) {
  if (measured.empty() || count < 1)
    return 1;
  std::ranges::sort(measured);
  auto all = static_cast<double>(measured.size());
  double mean = 0, before = 0;
  for (size_t i = 0; i < measured.size(); ++i) {
    // The chance that all of `count` are among the first i + 1.
    double within =
        std::pow(static_cast<double>(i + 1) / all, static_cast<double>(count));
    mean += measured[i] * (within - before);
    before = within;
  }
  double median = measured[measured.size() / 2];
  return median > 0 ? std::max(1.0, mean / median) : 1;
}

} // namespace gradus::cli
