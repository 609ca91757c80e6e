// What a measurement of steps notes.

#include "tool/bench/measurement.h"

#include "tests/tool/adder.h"

#include <gtest/gtest.h>

using namespace gradus;
using namespace gradus::cli;

namespace {

MeasuredRanks alone(const Ranks &ranks) {
  return {ranks, std::chrono::steady_clock::now(), nullptr};
}

} // namespace

TEST(Measurement, MakesAtLeastOneCall) {
  auto session = Adder().open();
  Ranks ranks;
  MeasuredRanks measured = alone(ranks);
  Measurement measurement(*session, 0, 0, measured);
  for (int64_t steps : {1, 3}) {
    std::vector<double> seconds = measurement.measure(steps, 0);
    ASSERT_EQ(seconds.size(), 1u);
    EXPECT_GT(seconds[0], 0);
  }
  EXPECT_EQ(measurement.agreed(0.25), 0.25);
}

TEST(Measurement, TimesTheCommandsOfEachTurn) {
  test::TestArtifact made;
  made.addTurns();
  Adder adder(std::move(made));
  auto session = adder.open();
  Ranks ranks;
  MeasuredRanks measured = alone(ranks);
  Measurement measurement(*session, 0, 0, measured);
  std::vector<TimedGraph> graphs = measurement.measureCommands();
  ASSERT_EQ(graphs.size(), 2u) << "train_partial and train_final";
  for (const TimedGraph &graph : graphs) {
    EXPECT_EQ(graph.calls, 1);
    ASSERT_EQ(graph.inCalls.size(), graph.nanoseconds.size());
    for (size_t i = 0; i < graph.inCalls.size(); ++i)
      EXPECT_EQ(graph.nanoseconds[i], median(graph.inCalls[i]));
  }
}

TEST(Measurement, TracesHalfOfTheStepsByCommand) {
  auto session = Adder().open();
  Ranks ranks;
  MeasuredRanks measured = alone(ranks);
  Measurement measurement(*session, 0, 0, measured);
  std::vector<TracedStep> steps = measurement.trace();
  ASSERT_EQ(steps.size() % 2, 0u);
  for (size_t i = 0; i < steps.size(); ++i) {
    EXPECT_EQ(steps[i].calls.empty(), i < steps.size() / 2);
    EXPECT_LE(steps[i].start, steps[i].end);
  }
}
