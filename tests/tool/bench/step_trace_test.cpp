// Steps as Chrome's Trace Event Format: what a viewer finds there.

#include "tool/bench/step_trace.h"

#include <gtest/gtest.h>

using namespace gradus::cli;
using namespace gradus::runtime;
using nlohmann::ordered_json;

namespace {

/// Of two commands: the first from two nodes.
GraphInfo twoCommands() {
  GraphInfo graph;
  graph.name = "train";
  CommandInfo product{"matmul+relu", "library", {"fc1", "relu1"}, 2000, 96};
  CommandInfo loss{"loss", "kernel", {"loss"}, 10, 8};
  graph.commands = {product, loss};
  return graph;
}

/// The trace of steps that run the two commands.
ordered_json traceOf(const std::vector<TracedStep> &steps,
                     std::vector<uint64_t> live = {}) {
  return stepTrace("train", "m.gradus", steps, {{0, {twoCommands(), live}}});
}

/// A step that starts at a time, with its commands timed.
TracedStep timed(int64_t start, int64_t end) {
  return {start, end, {{0, start, {3000, 1500}}}};
}

/// The events of one phase on one track.
std::vector<ordered_json> events(const ordered_json &trace,
                                 const std::string &phase, int track) {
  std::vector<ordered_json> found;
  for (const ordered_json &event : trace["traceEvents"])
    if (event["ph"] == phase && event["tid"] == track)
      found.push_back(event);
  return found;
}

} // namespace

TEST(StepTrace, HasATrackOfStepsAndOneOfCommands) {
  ordered_json trace = traceOf({{1000, 5000}, timed(6000, 11000)}, {64, 32});
  auto steps = events(trace, "X", 1), commands = events(trace, "X", 2);
  ASSERT_EQ(steps.size(), 2u);
  EXPECT_EQ(steps[0]["name"], "train 0");
  EXPECT_EQ(steps[0]["ts"], 1.0);
  EXPECT_EQ(steps[0]["dur"], 4.0);
  EXPECT_EQ(steps[1]["args"]["commands_timed"], true);
  ASSERT_EQ(commands.size(), 2u) << "of the step that was timed";
  EXPECT_EQ(commands[0]["name"], "matmul+relu");
  EXPECT_EQ(commands[0]["ts"], 6.0);
  EXPECT_EQ(commands[1]["ts"], 9.0);
  EXPECT_EQ(commands[1]["dur"], 1.5);
  EXPECT_EQ(commands[0]["cat"], "library");
  EXPECT_EQ(commands[0]["args"]["nodes"], (ordered_json{"fc1", "relu1"}));
  EXPECT_EQ(commands[0]["args"]["flops"], 2000);
}

TEST(StepTrace, CountsTheArenasBytes) {
  ordered_json trace = traceOf({timed(0, 5000)}, {64, 32});
  auto counts = events(trace, "C", 2);
  ASSERT_EQ(counts.size(), 3u);
  EXPECT_EQ(counts[0]["args"]["bytes"], 64);
  EXPECT_EQ(counts[1]["ts"], 3.0);
  EXPECT_EQ(counts[2]["args"]["bytes"], 0);
}

TEST(StepTrace, NamesItsTracks) {
  ordered_json trace = traceOf({});
  EXPECT_EQ(events(trace, "M", 1)[0]["args"]["name"], "m.gradus");
  EXPECT_EQ(events(trace, "M", 2)[0]["args"]["name"], "commands");
  EXPECT_TRUE(events(trace, "X", 1).empty());
}

TEST(StepTrace, HasATrackOfCommunicationIfThereIsAny) {
  EXPECT_TRUE(events(traceOf({{0, 5000}}), "M", 3).empty());
  MeasuredSum sum{"all-reduce of 8 f32", 32, 1000, 2000, 4500, 500};
  ordered_json trace = traceOf({{0, 5000, {}, {sum}}});
  ASSERT_EQ(events(trace, "M", 3).size(), 1u);
  EXPECT_EQ(events(trace, "M", 3)[0]["args"]["name"], "communication");
  auto sums = events(trace, "X", 3);
  ASSERT_EQ(sums.size(), 1u);
  EXPECT_EQ(sums[0]["name"], "all-reduce of 8 f32");
  EXPECT_EQ(sums[0]["ts"], 2.0);
  EXPECT_EQ(sums[0]["dur"], 2.5);
  EXPECT_EQ(sums[0]["args"]["bytes_sent"], 32);
  EXPECT_EQ(sums[0]["args"]["queued_us"], 1.0);
  EXPECT_EQ(sums[0]["args"]["exposed_us"], 0.5);
}

/// A step of two turns: each has its variant's commands.
TEST(StepTrace, HasTheTurnsOfAStepWithinIt) {
  GraphInfo partial, last;
  partial.name = "train_partial_0";
  partial.commands = {{"first", "kernel", {}, 1, 1}};
  last.name = "train_final_1";
  last.commands = {{"last", "kernel", {}, 1, 1}};
  TracedStep step{1000, 9000, {{7, 2000, {1000}}, {3, 4000, {3000}}}};
  ordered_json trace = stepTrace("train", "m.gradus", {step},
                                 {{7, {partial, {64}}}, {3, {last, {32}}}});
  auto steps = events(trace, "X", 1), commands = events(trace, "X", 2);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0]["name"], "train 0");
  EXPECT_EQ(steps[0]["args"]["commands_timed"], true);
  EXPECT_EQ(steps[1]["name"], "train_partial_0");
  EXPECT_EQ(steps[1]["ts"], 2.0);
  EXPECT_EQ(steps[1]["dur"], 1.0);
  EXPECT_EQ(steps[2]["name"], "train_final_1");
  EXPECT_EQ(steps[2]["dur"], 3.0);
  ASSERT_EQ(commands.size(), 2u);
  EXPECT_EQ(commands[0]["name"], "first");
  EXPECT_EQ(commands[1]["name"], "last");
  EXPECT_EQ(commands[1]["ts"], 4.0);
  EXPECT_EQ(events(trace, "C", 2).size(), 4u);
}
