#include "runtime/loaded_plan.h"

#include "test_artifact.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
using namespace gradus::test;

static std::unique_ptr<LoadedPlan> load(const TestArtifact &made, int threads) {
  auto artifact = *Artifact::fromBytes(made.bytes(), "adder");
  auto plan = LoadedPlan::load(artifact, *artifact->header().plans()->Get(0),
                               threads, false);
  EXPECT_TRUE(plan.ok()) << plan.status();
  return *std::move(plan);
}

TEST(LoadedPlan, KnowsWhereInputsAndOutputsLie) {
  auto plan = load(TestArtifact(), 2);
  const LoadedGraph &train = plan->graphs()[0];
  EXPECT_EQ(train.inputs[0].bytes, 32u);
  EXPECT_EQ(train.outputs[0].data - train.inputs[0].data, 64);
  EXPECT_EQ(train.commands.size(), 4u);
  EXPECT_EQ(plan->threads(), 2);
}

TEST(LoadedPlan, RunsCommandsInOrder) {
  auto plan = load(TestArtifact(), 1);
  auto *x = reinterpret_cast<float *>(plan->graphs()[0].inputs[0].data);
  x[2] = 5;
  std::vector<int64_t> times(4);
  ASSERT_TRUE(plan->run(0, times).ok());
  EXPECT_EQ(reinterpret_cast<float *>(plan->graphs()[0].outputs[0].data)[2], 5);
  EXPECT_EQ(reinterpret_cast<float *>(plan->graphs()[0].outputs[1].data)[2],
            17);
}

TEST(LoadedPlan, StartsWithZeroState) {
  auto plan = load(TestArtifact(), 1);
  for (size_t i = 0; i < plan->state().size(); ++i)
    EXPECT_EQ(plan->state().data()[i], 0);
}

TEST(LoadedPlan, RunsAPlanWithoutCommandsOrMemory) {
  TestArtifact made;
  for (auto &graph : made.plan().graphs)
    graph->commands.clear();
  auto plan = load(made, 4);
  EXPECT_EQ(plan->threads(), 1);
  EXPECT_TRUE(plan->run(1, {}).ok());
}
