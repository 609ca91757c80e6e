// What buckets cost on a network, of which a run would be told the same.

#include "tests/tool/adder.h"
#include "tool/inspect/artifact_facts.h"
#include "tool/inspect/transfer_costs.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::cli;
using namespace std::chrono_literals;
using nlohmann::ordered_json;
using testing::HasSubstr;

namespace {

constexpr int64_t kFloats = 64 * 1024;

void addSum(artifact::GraphPlanT &graph, uint32_t number,
            std::vector<uint32_t> buffers) {
  artifact::StartCommandT start;
  start.number = number;
  start.buffers = buffers;
  artifact::FinishCommandT finish;
  finish.number = number;
  finish.buffers = finish.results = buffers;
  auto begins = std::make_unique<artifact::CommandT>(),
       ends = std::make_unique<artifact::CommandT>();
  begins->kind.Set(std::move(start));
  ends->kind.Set(std::move(finish));
  graph.commands.push_back(std::move(begins));
  graph.commands.push_back(std::move(ends));
}

/// An artifact that sums one float, and then many.
test::TestArtifact summing() {
  test::TestArtifact made;
  uint32_t small = made.addArena(1), large = made.addArena(kFloats);
  addSum(made.train(), 0, {small});
  addSum(made.train(), 1, {large});
  return made;
}

ordered_json factsOf(const test::TestArtifact &made, SummingRanks ranks) {
  auto opened = *runtime::Artifact::fromBytes(made.bytes(), "adder.gradus");
  ordered_json facts = artifactJson(*opened);
  addTransferCosts(facts, *opened, ranks);
  return facts;
}

std::string refusal(const test::TestArtifact &made, int64_t ranks) {
  try {
    factsOf(made, {ranks, {1e9, 5us}});
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, kBadInput);
    return failure.what();
  }
  return "ok";
}

} // namespace

TEST(TransferCosts, AreThoseOfEachBucketAndOfAll) {
  ordered_json facts = factsOf(summing(), {4, {1e9, 5us}});
  const ordered_json &graph = facts["plans"][0]["graphs"][0];
  ASSERT_EQ(graph["buckets"].size(), 2u);
  const ordered_json &small = graph["buckets"][0], &large = graph["buckets"][1];
  // Two rounds of the whole buffer; four rounds of halves and quarters.
  EXPECT_EQ(small["bytes_sent"], 2 * 4);
  EXPECT_NEAR(small["ms_transferred"].get<double>(), 10e-3, 1e-4);
  EXPECT_EQ(large["bytes_sent"], 2 * 4 * kFloats * 3 / 4);
  EXPECT_NEAR(large["ms_transferred"].get<double>(),
              20e-3 + 2 * 4e-6 * kFloats * 3 / 4, 1e-4);
  const ordered_json &sums = graph["sums"];
  EXPECT_EQ(sums["bytes_sent"], 8 + 6 * kFloats);
  EXPECT_NEAR(sums["ms_transferred"].get<double>(), 30e-3 + 6e-6 * kFloats,
              2e-4);
  EXPECT_EQ(textOfTransfers(sums),
            "The busiest rank sends 384 KiB in all; 0.423 ms under way, one "
            "bucket after the other.");
}

TEST(TransferCosts, SayOnWhichNetwork) {
  ordered_json facts = factsOf(summing(), {4, {25e9, 5us}});
  EXPECT_EQ(facts["network"].dump(),
            R"({"ranks":4,"bytes_per_s":25000000000.0,"us_latency":5.0})");
  EXPECT_EQ(textOfNetwork(facts["network"]), "4 ranks at 25 GB/s, 5.0 us");
}

/// An artifact whose ranks make AdaSum in groups.
static test::TestArtifact inGroups(uint32_t within) {
  test::TestArtifact made = summing();
  for (const auto &command : made.train().commands)
    if (auto *start = command->kind.AsStartCommand()) {
      start->groups = std::make_unique<artifact::RankGroupsT>();
      start->groups->within = within;
      start->groups->across = artifact::Across::adasum;
    }
  return made;
}

TEST(TransferCosts, AreNoneOfRanksThatFillNoGroups) {
  EXPECT_EQ(refusal(inGroups(4), 8), "ok");
  EXPECT_EQ(refusal(inGroups(4), 2), "ok");
  EXPECT_THAT(refusal(inGroups(4), 6),
              HasSubstr("adder.gradus: 6 ranks are no groups of 4, which "
                        "adasum.within says; run it on a multiple of 4"));
  test::TestArtifact made = summing();
  made.header.ranks = 3;
  EXPECT_EQ(refusal(made, 3), "ok");
  EXPECT_THAT(refusal(made, 4), HasSubstr("is for 3 ranks"));
}

TEST(TransferCosts, SayThatTheyAreOfOneHostWhereItsRanksAreAGroup) {
  EXPECT_EQ(textOfNetwork(factsOf(inGroups(0), {4, {25e9, 5us}}).at("network")),
            "4 ranks at 25 GB/s, 5.0 us, all ranks on one host "
            "(adasum.within)");
  EXPECT_FALSE(
      factsOf(inGroups(2), {4, {25e9, 5us}})["network"].contains("hosts"));
}

TEST(TransferCosts, AreNoneOfGraphsThatSumNothing) {
  ordered_json facts = factsOf(summing(), {4, {1e9, 5us}});
  EXPECT_FALSE(facts["plans"][0]["graphs"][1].contains("sums"));
  EXPECT_EQ(refusal({}, 4),
            "adder.gradus: sums nothing over ranks, so it uses no network; "
            "compile with --set distribution.mode=data_parallel");
}

/// Two logical ranks: two processes run `train`, and one runs `train_partial`
/// and `train_final`.
TEST(TransferCosts, AreThoseOfTheVariantsThatSoManyProcessesRun) {
  test::TestArtifact made = summing();
  made.addTurns(); // train_final has the sums of train
  ordered_json facts = factsOf(made, {2, {1e9, 5us}});
  const ordered_json &graphs = facts["plans"][0]["graphs"];
  for (const ordered_json &graph : graphs)
    EXPECT_EQ(graph.contains("sums"), graph["name"] == "train")
        << graph["name"];
  EXPECT_TRUE(graphs[3].contains("buckets"));
  EXPECT_THAT(refusal(made, 4),
              HasSubstr("adder.gradus: has 2 logical ranks "
                        "(distribution.logical_ranks), which 4 processes "
                        "cannot divide; run it on 1 or 2"));
}
