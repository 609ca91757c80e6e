#include "tool/bench/prediction.h"

#include "runtime/artifact/artifact.h"
#include "tests/runtime/test_artifact.h"

#include <gmock/gmock.h>

using namespace gradus::cli;
using namespace gradus::runtime;
using namespace std::chrono_literals;
using nlohmann::ordered_json;
using testing::HasSubstr;
namespace fb = gradus::artifact;

namespace {

constexpr uint64_t kFloats = 1'000'000;

/// An artifact whose graph computes, begins a sum, and waits for it.
std::shared_ptr<const Artifact> summing() {
  gradus::test::TestArtifact made;
  uint32_t buffer = made.addArena(kFloats);
  fb::StartCommandT start;
  start.buffers = {buffer};
  made.add("start", std::move(start));
  fb::FinishCommandT finish;
  finish.buffers = finish.results = {buffer};
  made.add("finish", std::move(finish));
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  return *artifact;
}

/// What is predicted where the commands that compute took so many milliseconds
/// in each call, beside sums that have been waited for.
ordered_json predicted(const std::vector<double> &calls, double seconds,
                       const Prediction &asked) {
  auto artifact = summing();
  const fb::Plan &plan = *artifact->header().plans()->Get(0);
  const fb::GraphPlan &graph = *plan.graphs()->Get(0);
  size_t computing = graph.commands()->size() - 2;
  MeasuredStep measured{.seconds = seconds};
  for (size_t i = 0; i < graph.commands()->size(); ++i) {
    std::vector<double> times;
    for (double each : calls)
      times.push_back(
          i < computing ? each * 1e6 / static_cast<double>(computing) : 7e6);
    measured.commands.nanoseconds.push_back(median(times));
    measured.commands.inCalls.push_back(times);
  }
  return predictionJson(asked, plan, graph, measured, {});
}

} // namespace

TEST(Prediction, IsOfTheSlowestRank) {
  ordered_json all = predicted({2, 2, 3, 2, 2}, 0, {{1, 2, 1024}, {1e9, 0us}});
  EXPECT_EQ(all["calls"], 5);
  EXPECT_NEAR(all["ms_alone"], 2.2, 1e-9) << "on average";
  const ordered_json &one = all["steps"][0], &two = all["steps"][1],
                     &many = all["steps"][2];
  EXPECT_EQ(one["bytes_sent"], 0);
  // Of one call the mean, which is 2.2.
  EXPECT_NEAR(one["slowest"], 1.1, 1e-9);
  EXPECT_NEAR(one["ms_step"], 2.2, 1e-9);
  // Of two calls none is the slow one in 16 of 25 cases.
  EXPECT_NEAR(two["slowest"], (2 * 16 + 3 * 9) / 25.0 / 2, 1e-9);
  EXPECT_EQ(two["bytes_sent"], 4 * kFloats);
  EXPECT_NEAR(two["ms_exposed"], 4, 0.01);
  EXPECT_NEAR(two["ms_step"], two["ms_computed"].get<double>() + 4, 0.01);
  EXPECT_NEAR(one["efficiency"], 1, 1e-9);
  EXPECT_NEAR(two["efficiency"], 2.2 / two["ms_step"].get<double>(), 1e-9);
  EXPECT_NEAR(many["slowest"], 1.5, 1e-6);
  EXPECT_NEAR(many["ms_exposed"], 8 * 1023 / 1024.0, 0.1);
}

TEST(Prediction, TakesTheTimeOfAWholeStepWhereItIsKnown) {
  ordered_json all = predicted({2, 2, 2}, 3e-3, {{2}, {4e9, 0us}});
  EXPECT_NEAR(all["ms_alone"], 3, 1e-9);
  EXPECT_NEAR(all["steps"][0]["ms_step"], 4, 0.01);
}

TEST(Prediction, IsATable) {
  std::string text =
      textOfPrediction(predicted({2, 2, 2}, 0, {{2}, {1e9, 5us}}));
  EXPECT_THAT(text, HasSubstr("at 1 GB/s, 5.0 us; without its sums one of the "
                              "ranks that ran takes 2.00"));
  EXPECT_THAT(text, HasSubstr("1.00x"));
  EXPECT_THAT(text, HasSubstr("of 3 measured calls"));
}
