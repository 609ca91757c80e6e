// What an artifact says of itself adds up.

#include "tests/tool/adder.h"
#include "tests/tool/product.h"
#include "tool/inspect/artifact_facts.h"

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

TEST(ArtifactFacts, TellOfLogicalRanks) {
  EXPECT_EQ(artifactJson(Adder().open()->artifact())["logical_ranks"], 0);
  gradus::test::TestArtifact made;
  made.addTurns();
  auto facts = artifactJson(Adder(made).open()->artifact());
  EXPECT_EQ(facts["logical_ranks"], 2);
  EXPECT_EQ(facts["states"].back()["role"], "scratch");
}

/// Of a launch; of all items together, where kernels are flat.
TEST(ArtifactFacts, SayWhatKernelsOfGpusExecute) {
  gradus::test::TestArtifact made;
  addProduct(made);
  made.addGpuPlan();
  for (auto [piece, blocks, times] :
       {std::tuple(0, 1, 1), {8, 0, int(gradus::test::kSize)}}) {
    for (auto &kernel : made.kernels.kernels) {
      kernel->gpu->operations = 5;
      kernel->gpu->piece = uint64_t(piece);
      kernel->gpu->most_blocks = uint64_t(blocks);
    }
    auto artifact = *gradus::runtime::Artifact::fromBytes(made.bytes(), "a");
    auto plans = artifactJson(*artifact)["plans"];
    auto commands = plans[1]["graphs"][0]["commands"];
    EXPECT_EQ(commands[0]["operations"], 5 * times);
    EXPECT_FALSE(plans[0]["graphs"][0]["commands"][0].contains("operations"));
    const auto &product = commands.back();
    EXPECT_FALSE(product.contains("operations"));
    EXPECT_EQ(product["scratch_bytes"], 0);
    EXPECT_EQ(product["call"].get<std::string>().substr(0, 10), "matmul f32");
  }
}

/// Commands that differ in where their tensors lie are one call.
TEST(ArtifactFacts, NameTheLibrariesOfAPlan) {
  gradus::test::TestArtifact made;
  addProduct(made);
  addProduct(made);
  made.addGpuPlan();
  auto textOf = [&](unsigned plan) {
    auto artifact = *gradus::runtime::Artifact::fromBytes(made.bytes(), "a");
    return librariesText(librariesOf(*artifact->header().plans()->Get(plan)));
  };
  EXPECT_EQ(textOf(0), "oneDNN (1 call)");
  EXPECT_EQ(textOf(1), "cuBLASLt (1 call)");
  activationOf(
      *made.header.plans[1]->graphs[0]->commands[5]->kind.AsLibraryCommand()) =
      gradus::artifact::Activation::relu;
  EXPECT_EQ(textOf(1), "cuBLASLt (2 different calls, 1 with relu)");
}

TEST(ArtifactFacts, NameNoLibraryWhereNoneIsCalled) {
  Adder adder;
  auto session = adder.open();
  EXPECT_TRUE(librariesOf(session->plan()).empty());
}

/// In the words of those who measure them.
TEST(ArtifactFacts, CallCommandsAsASessionDoes) {
  gradus::test::TestArtifact made;
  addProduct(made);
  Adder adder(std::move(made));
  auto session = adder.open();
  auto told =
      artifactJson(session->artifact())["plans"][0]["graphs"][0]["commands"];
  const auto &commands = session->graphs()[0].commands;
  ASSERT_EQ(told.size(), commands.size());
  for (size_t i = 0; i < told.size(); ++i)
    EXPECT_EQ(told[i]["kind"], commands[i].kind) << i;
  EXPECT_EQ(told.back()["kind"], "library");
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
