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
  EXPECT_GE(graph["expected_ms"].get<double>(), 0);
  EXPECT_EQ(graph["live_bytes"].size(), graph["commands"].size());
  EXPECT_GT(facts["rates"]["flop_per_s"].get<double>(), 0);
}
