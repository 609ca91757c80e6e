// Times of the commands of a step, and of the turns of one.

#include "tests/tool/adder.h"
#include "tool/bench/command_times.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::cli;
using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// The hand-made artifact with two logical ranks: train_partial is graph 2,
/// train_final graph 3.
Adder withTurns() {
  test::TestArtifact made;
  made.addTurns();
  return Adder(std::move(made));
}

/// So many nanoseconds for each command of a graph.
TimedGraph timed(const runtime::Session &session, int graph, int64_t calls,
                 double each) {
  size_t commands = session.graphs()[graph].commands.size();
  return {graph, calls, std::vector<double>(commands, each)};
}

} // namespace

TEST(Median, IsTheValueInTheMiddle) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({}), 0);
}

TEST(CommandTimes, KnowWhichVariantRan) {
  Adder adder = withTurns();
  auto session = adder.open();
  std::vector<float> x(test::kSize, 1);
  std::vector<const void *> inputs = {x.data()};
  CommandTimes times(*session, {{2}, {3}});
  for (int step = 0; step < 2; ++step)
    for (int graph : {2, 3}) {
      auto call = take(times.call(0, inputs));
      EXPECT_EQ(call.graph, graph);
      EXPECT_EQ(call.nanoseconds.size(),
                session->graphs()[graph].commands.size());
    }
  std::vector<TimedGraph> medians = times.medians();
  ASSERT_EQ(medians.size(), 2u);
  for (const TimedGraph &each : medians)
    for (double nanoseconds : each.nanoseconds)
      EXPECT_GT(nanoseconds, 0);
}

TEST(CommandTimes, AreNoneOfOtherGraphs) {
  Adder adder = withTurns();
  auto session = adder.open();
  std::vector<float> x(test::kSize, 1);
  CommandTimes times(*session, {{3}});
  EXPECT_THAT(take(times.call(0, {x.data()})).nanoseconds, ElementsAre());
  EXPECT_EQ(take(times.call(0, {x.data()})).graph, 3);
}

TEST(CommandTimes, AreSharesOfTheStep) {
  auto session = Adder().open();
  ordered_json result;
  addCommandTimes(result, *session, {timed(*session, 0, 1, 500)}, std::nullopt);
  EXPECT_FALSE(result.contains("variants"));
  size_t count = session->graphs()[0].commands.size();
  ASSERT_EQ(result["commands"].size(), count);
  for (const ordered_json &command : result["commands"]) {
    EXPECT_EQ(command["us"], 0.5);
    EXPECT_DOUBLE_EQ(command["share"].get<double>(), 1.0 / count);
    EXPECT_FALSE(command.contains("graph"));
    EXPECT_FALSE(command.contains("of_bandwidth"));
  }
  EXPECT_THAT(textOfCommands(result), testing::Not(HasSubstr("variant")));
}

/// Four turns: three call one variant, the last one another.
TEST(CommandTimes, CountEachCallOfAStep) {
  Adder adder = withTurns();
  auto session = adder.open();
  ordered_json result;
  addCommandTimes(result, *session,
                  {timed(*session, 2, 3, 1000), timed(*session, 3, 1, 2000)},
                  std::nullopt);
  double partial = session->graphs()[2].commands.size(),
         last = session->graphs()[3].commands.size();
  const ordered_json &variants = result["variants"];
  ASSERT_EQ(variants.size(), 2u);
  EXPECT_EQ(variants[0]["graph"], "train_partial");
  EXPECT_EQ(variants[0]["calls"], 3);
  EXPECT_EQ(variants[0]["us"], 3 * partial);
  EXPECT_EQ(variants[1]["us"], 2 * last);
  double all = 3 * partial + 2 * last, shares = 0;
  EXPECT_DOUBLE_EQ(variants[0]["share"].get<double>(), 3 * partial / all);
  for (const ordered_json &command : result["commands"])
    shares += command["share"].get<double>();
  EXPECT_NEAR(shares, 1, 1e-9);
  EXPECT_EQ(result["commands"][0]["us"], 1) << "of a call";
  EXPECT_EQ(result["commands"][0]["graph"], "train_partial");
  EXPECT_EQ(result["commands"].back()["graph"], "train_final");
  std::string text = textOfCommands(result);
  EXPECT_THAT(text,
              HasSubstr("  train_partial                3          3.0 us     "
                        "9.0 us  39.1%\n"));
  EXPECT_THAT(text, HasSubstr("\ntrain_partial, 3 calls of a step; times of "
                              "one call, shares of the step\n"));
  EXPECT_THAT(text, HasSubstr("\ntrain_final, 1 call of a step; "));
}
