#include "tests/runtime/refusals.h"

#include <gtest/gtest.h>

using namespace gradus::test;

TEST(Verify, TakesTheTestArtifact) {
  EXPECT_EQ(wordsFor(TestArtifact()), "ok");
}

TEST(Verify, NamesThePlan) {
  EXPECT_EQ(wordsAfter([](TestArtifact &made) {
              auto second =
                  std::make_unique<gradus::artifact::PlanT>(made.plan());
              second->target = "cpu:other";
              second->state_offsets.clear();
              made.header.plans.push_back(std::move(second));
            }),
            "adder: plan 1 (cpu:other): places 0 of 3 states");
}

TEST(Verify, TakesAnArtifactWithoutPlans) {
  EXPECT_EQ(wordsAfter([](TestArtifact &made) {
              made.header.plans.clear();
              made.code.clear();
            }).find("adder: "),
            0u)
      << "its kernels belong to nothing";
}
