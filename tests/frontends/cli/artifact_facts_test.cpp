// What an artifact says of itself adds up.

#include "frontends/cli/artifact_facts.h"
#include "tests/frontends/cli/adder.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

TEST(ArtifactFacts, SumUpTheCommandsOfAGraph) {
  Adder adder;
  auto session = adder.open();
  auto facts = artifactJson(session->artifact());
  const auto &graph = facts["plans"][0]["graphs"][0];
  EXPECT_EQ(graph["name"], "train");
  uint64_t flops = 0, bytes = 0;
  for (const auto &command : graph["commands"]) {
    flops += command["flops"].get<uint64_t>();
    bytes += command["bytes"].get<uint64_t>();
  }
  EXPECT_EQ(graph["flops"], flops);
  EXPECT_EQ(graph["bytes"], bytes);
  ASSERT_EQ(graph["expected_ms"].size(), 1u);
  EXPECT_GE(graph["expected_ms"][0].get<double>(), 0);
  EXPECT_EQ(graph["live_bytes"].size(), graph["commands"].size());
  EXPECT_GT(facts["plans"][0]["rates"][0]["flop_per_s"].get<double>(), 0);
}

/// A plan's times are those of devices that can run it.
TEST(ArtifactFacts, TellPlansApart) {
  gradus::test::TestArtifact made;
  made.addGpuPlan();
  Adder adder(std::move(made));
  auto session = adder.open();
  auto plans = artifactJson(session->artifact())["plans"];
  ASSERT_EQ(plans.size(), 2u);
  ASSERT_EQ(plans[0]["rates"].size(), 1u);
  EXPECT_EQ(plans[0]["rates"][0]["device"], "this machine");
  std::vector<std::string> cards;
  for (const auto &card : plans[1]["rates"])
    cards.push_back(card["title"]);
  EXPECT_EQ(cards, (std::vector<std::string>{"H100", "H200"})); // sm_90
  const auto &graph = plans[1]["graphs"][0];
  EXPECT_EQ(graph["expected_ms"].size(), cards.size());
  EXPECT_EQ(graph["commands"][0]["expected_us"].size(), cards.size());
}
