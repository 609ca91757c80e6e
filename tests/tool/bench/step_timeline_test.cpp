#include "tool/bench/step_timeline.h"

#include "runtime/artifact/artifact.h"
#include "runtime/collectives/rounds.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

using namespace gradus::cli;
using namespace gradus::runtime;
using namespace std::chrono_literals;
namespace fb = gradus::artifact;

namespace {

constexpr uint64_t kFloats = 1'000'000;
/// What two ranks send of that: half of it, twice.
constexpr double kBytes = 4.0 * kFloats;

TimelineCommand computes(double seconds) { return {.seconds = seconds}; }
TimelineCommand begins(uint64_t number) {
  return {.kind = TimelineCommand::begins,
          .number = number,
          .sums = {{.count = kFloats}}};
}
TimelineCommand waits(uint64_t number) {
  return {.kind = TimelineCommand::waits, .number = number};
}

/// Two ranks on a network that takes `seconds` for each sum.
PredictedRanks twoRanks(double seconds) {
  return {.count = 2, .network = {kBytes / seconds, 0us}};
}

} // namespace

TEST(StepTimeline, HidesASumBehindCommands) {
  PredictedStep step =
      predictStep({computes(1), begins(1), computes(3), waits(1), computes(1)},
                  twoRanks(2));
  EXPECT_DOUBLE_EQ(step.computed, 5);
  EXPECT_NEAR(step.transferred, 2, 1e-3);
  EXPECT_EQ(step.exposed, 0);
  EXPECT_DOUBLE_EQ(step.seconds(), 5);
  EXPECT_EQ(step.bytesSent, static_cast<uint64_t>(kBytes));
}

TEST(StepTimeline, WaitsForWhatNoCommandHides) {
  PredictedStep step =
      predictStep({computes(1), begins(1), computes(3), waits(1), computes(1)},
                  twoRanks(5));
  EXPECT_NEAR(step.exposed, 2, 1e-3);
  EXPECT_NEAR(step.seconds(), 7, 1e-3);
}

TEST(StepTimeline, SumsTakeTheirTurns) {
  // The second begins at 1 and has its turn at 4.
  PredictedStep step = predictStep(
      {begins(1), computes(1), begins(2), computes(5), waits(1), waits(2)},
      twoRanks(4));
  EXPECT_NEAR(step.transferred, 8, 1e-3);
  EXPECT_NEAR(step.exposed, 2, 1e-3);
  EXPECT_NEAR(step.seconds(), 8, 1e-3);
}

TEST(StepTimeline, AdditionsTakeTheTimeOfThreadsThatCompute) {
  PredictedRanks ranks = twoRanks(1);
  ranks.rate = {.bytesPerSecond = kBytes / 2, .seconds = 0.5};
  ranks.threads = 4;
  // The additions take longer than the network.
  PredictedStep hidden = predictStep({begins(1), computes(5), waits(1)}, ranks);
  EXPECT_NEAR(hidden.transferred, 2.5, 1e-3);
  EXPECT_EQ(hidden.exposed, 0);
  EXPECT_NEAR(hidden.added, 2.0 / 4, 1e-3);
  // Who waits has nothing that additions hold up.
  PredictedStep exposed = predictStep({begins(1), waits(1)}, ranks);
  EXPECT_NEAR(exposed.exposed, 2.5, 1e-3);
  EXPECT_EQ(exposed.added, 0);
}

TEST(StepTimeline, OneRankSumsNothing) {
  PredictedStep step =
      predictStep({begins(1), computes(1), waits(1)}, {.count = 1});
  EXPECT_EQ(step.bytesSent, 0u);
  EXPECT_DOUBLE_EQ(step.seconds(), 1);
}

TEST(StepTimeline, SendsAsMuchAsTheCollectivesDo) {
  for (int count : {2, 3, 8, 4096}) {
    PredictedRanks ranks{.count = count, .network = {1e9, 5us}};
    PredictedStep step = predictStep({begins(1), waits(1)}, ranks);
    EXPECT_EQ(step.bytesSent, bytesSent({.count = kFloats}, count, 0));
    EXPECT_GT(step.exposed, static_cast<double>(step.bytesSent) / 1e9);
  }
}

TEST(StepTimeline, ReadsCommandsOfAPlan) {
  gradus::test::TestArtifact made;
  uint32_t buffer = made.addArena(16);
  fb::StartCommandT start;
  start.buffers = {buffer};
  made.add("start", std::move(start));
  fb::FinishCommandT finish;
  finish.buffers = finish.results = {buffer};
  made.add("finish", std::move(finish));
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const fb::Plan &plan = *(*artifact)->header().plans()->Get(0);
  const fb::GraphPlan &graph = *plan.graphs()->Get(0);
  std::vector<double> nanoseconds(graph.commands()->size(), 2e9);
  std::vector<TimelineCommand> line = timelineOf(plan, graph, nanoseconds);
  ASSERT_EQ(line.size(), nanoseconds.size());
  EXPECT_TRUE(hasSums(graph));
  const TimelineCommand &last = line.back(), &before = line[line.size() - 2];
  EXPECT_EQ(before.kind, TimelineCommand::begins);
  EXPECT_EQ(before.number, 0u);
  ASSERT_EQ(before.sums.size(), 1u);
  EXPECT_EQ(before.sums[0].count, 16u);
  EXPECT_EQ(last.kind, TimelineCommand::waits);
  EXPECT_EQ(last.number, 0u);
  EXPECT_EQ(last.seconds, 0) << "a time that it waited";
  EXPECT_EQ(line.front().seconds, 2);
}

/// What groups of ranks combine is more than a sum of as many elements.
TEST(StepTimeline, BeginsWhatGroupsCombine) {
  gradus::test::TestArtifact made;
  std::vector<uint32_t> buffers = {made.addArena(1000), made.addArena(24)};
  fb::StartCommandT start;
  start.buffers = buffers;
  start.groups = std::make_unique<fb::RankGroupsT>();
  start.groups->within = 2;
  start.groups->across = fb::Across::adasum;
  made.add("start", std::move(start));
  fb::FinishCommandT finish;
  finish.buffers = finish.results = buffers;
  made.add("finish", std::move(finish));
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const fb::Plan &plan = *(*artifact)->header().plans()->Get(0);
  const fb::GraphPlan &graph = *plan.graphs()->Get(0);
  std::vector<double> nanoseconds(graph.commands()->size());
  std::vector<TimelineCommand> line = timelineOf(plan, graph, nanoseconds);
  const TimelineCommand &begins = line[line.size() - 2];
  ASSERT_EQ(begins.sums.size(), 1u);
  EXPECT_EQ(begins.sums[0].op, CollectiveOp::groupReduce);
  ASSERT_TRUE(begins.sums[0].groups);
  EXPECT_EQ(begins.sums[0].groups->within, 2);
  // Rank 0 has the parts of 512 and 16 floats. It sends the others, halves of
  // these, the same back and all; and products of two tensors to two ranks.
  PredictedStep step = predictStep(line, {.count = 4, .network = {1e9, 5us}});
  EXPECT_EQ(step.bytesSent,
            4u * ((488 + 8) + (256 + 8) * 2 + (512 + 16)) + 2 * 2 * 24);
}

TEST(SlowestOf, IsTheMeanOfTheLongest) {
  EXPECT_EQ(slowestOf(1, {}), 1);
  EXPECT_EQ(slowestOf(8, {2, 2, 2}), 1);
  // Of two draws from 1, 2, 3 the longer is 1, 2 and 3 in 1, 3 and 5 of nine.
  EXPECT_NEAR(slowestOf(2, {3, 1, 2}), (1 + 2 * 3 + 3 * 5) / 9.0 / 2, 1e-12);
  EXPECT_NEAR(slowestOf(4096, {3, 1, 2}), 1.5, 1e-12);
}
