#include "runtime/cpu/features.h"

#include "test_artifact.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace gradus::runtime;
using namespace gradus::test;

static std::shared_ptr<const Artifact> open(const TestArtifact &made) {
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.status().message();
  return *artifact;
}

static void addPlan(TestArtifact &made, const char *target,
                    std::vector<std::string> features, int score) {
  auto plan = std::make_unique<gradus::artifact::PlanT>(made.plan());
  plan->target = target;
  plan->features = std::move(features);
  plan->tuning_score = score;
  made.header.plans.push_back(std::move(plan));
}

TEST(Features, AreSortedAndHaveTheBasics) {
  const auto &features = cpuFeatures();
  EXPECT_TRUE(std::is_sorted(features.begin(), features.end()));
  for (const char *basic : {"sse2", "64bit", "cmov", "x87"})
    EXPECT_TRUE(std::binary_search(features.begin(), features.end(), basic))
        << basic;
}

TEST(Features, AgreeWithTheCompilers) {
  auto has = [](const char *name) {
    return std::binary_search(cpuFeatures().begin(), cpuFeatures().end(), name);
  };
  __builtin_cpu_init();
  EXPECT_EQ(has("avx2"), !!__builtin_cpu_supports("avx2"));
  EXPECT_EQ(has("fma"), !!__builtin_cpu_supports("fma"));
  EXPECT_EQ(has("avx512f"), !!__builtin_cpu_supports("avx512f"));
  EXPECT_EQ(has("avx512vl"), !!__builtin_cpu_supports("avx512vl"));
  EXPECT_EQ(has("avx512bf16"), !!__builtin_cpu_supports("avx512bf16"));
  EXPECT_EQ(has("bmi2"), !!__builtin_cpu_supports("bmi2"));
}

TEST(ChoosePlan, TakesTheBestThatThisMachineCanRun) {
  TestArtifact made;
  addPlan(made, "cpu:better", {"sse2"}, 5);
  addPlan(made, "cpu:too-new", {"avx9000"}, 9);
  addPlan(made, "cuda:sm_90", {}, 99);
  auto artifact = open(made);
  auto plan = choosePlan(artifact->header());
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ((*plan)->target()->str(), "cpu:better");
}

TEST(ChoosePlan, SaysWhatThisMachineLacks) {
  TestArtifact made;
  made.plan().features = {"sse2", "avx9000", "amx-quantum"};
  auto artifact = open(made);
  EXPECT_EQ(missingFeatures(*artifact->header().plans()->Get(0)),
            (std::vector<std::string>{"avx9000", "amx-quantum"}));
  EXPECT_EQ(
      choosePlan(artifact->header()).status().message(),
      "was compiled for other processors, and this one lacks what it needs: "
      "cpu:x86-64-v2 needs avx9000, amx-quantum");
}

TEST(ChoosePlan, SaysThatThereIsNoneForTheCpu) {
  TestArtifact made;
  made.plan().target = "cuda:sm_90";
  auto artifact = open(made);
  EXPECT_EQ(choosePlan(artifact->header()).status().message(),
            "has no plan for the CPU");
}
