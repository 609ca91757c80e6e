// Where processes begin that share logical ranks.

#include "runtime/session/place.h"

#include "runtime/collectives/collectives.h"
#include "runtime/well_known.h"
#include "tests/runtime/test_artifact.h"

#include <gmock/gmock.h>

using namespace gradus;
using namespace gradus::runtime;
using testing::MatchesRegex;

namespace {

/// A rank of a group that sends nothing.
struct Silent final : Collectives {
  Silent(int rank, int ranks) : rank_(rank), ranks_(ranks) {}
  int rank() const override { return rank_; }
  int ranks() const override { return ranks_; }
  uint64_t begin(const Collective &) override { return 0; }
  Status finish(uint64_t) override { return {}; }
  Status fail(const Status &status) override { return status; }
  void keep(std::shared_ptr<const void>) override {}
  int rank_, ranks_;
};

StatusOr<Place> placed(int64_t logicalRanks, int rank, int ranks) {
  gradus::test::TestArtifact made;
  if (logicalRanks)
    made.addTurns();
  made.header.logical_ranks = logicalRanks;
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.status();
  Silent silent(rank, ranks);
  return placeOf((*artifact)->header(), ranks > 1 ? &silent : nullptr);
}

/// A plan that combines f32 of ranks in groups.
StatusOr<std::shared_ptr<const Artifact>>
combining(uint32_t within, artifact::Across across, int64_t elements) {
  gradus::test::TestArtifact made;
  uint32_t buffer = made.addArena(elements);
  artifact::StartCommandT start;
  start.buffers = {buffer};
  start.groups = std::make_unique<artifact::RankGroupsT>();
  start.groups->within = within;
  start.groups->across = across;
  made.add("start", std::move(start));
  artifact::FinishCommandT finish;
  finish.buffers = finish.results = {buffer};
  made.add("finish", std::move(finish));
  return Artifact::fromBytes(made.bytes(), "adder");
}

int64_t valueIn(const Place &place, const char *name) {
  StateInfo state;
  state.name = name;
  return place.valueOf(state);
}

} // namespace

TEST(Place, HasTheFirstOfItsLogicalRanksAndAllTurnsBeforeIt) {
  Place place = *placed(/*logicalRanks=*/8, /*rank=*/1, /*ranks=*/2);
  EXPECT_EQ(place.turns(), 4);
  EXPECT_EQ(place.turn, 3);
  EXPECT_EQ(valueIn(place, well_known::kRank), 4);
  EXPECT_EQ(valueIn(place, well_known::kRanks), 2);
  EXPECT_EQ(valueIn(place, well_known::kTurn), 3);
  place = *placed(8, 0, 1);
  EXPECT_EQ(place.turns(), 8);
  EXPECT_EQ(valueIn(place, well_known::kRanks), 1);
  place = *placed(8, 5, 8);
  EXPECT_EQ(place.turns(), 1);
  EXPECT_EQ(valueIn(place, well_known::kRank), 5);
  EXPECT_EQ(valueIn(place, well_known::kTurn), 0);
}

TEST(Place, OfAProcessWithoutLogicalRanksIsItsOwn) {
  Place place = *placed(0, 2, 3);
  EXPECT_EQ(place.turns(), 1);
  EXPECT_EQ(place.turn, -1);
  EXPECT_EQ(valueIn(place, well_known::kRank), 2);
  EXPECT_EQ(valueIn(place, well_known::kRanks), 3);
}

TEST(Place, IsRefusedWhereLogicalRanksCannotBeDivided) {
  EXPECT_EQ(placed(8, 0, 3).status().message(),
            "has 8 logical ranks (distribution.logical_ranks), which 3 "
            "processes cannot divide; run it on 1, 2, 4 or 8");
  EXPECT_EQ(placed(2, 0, 4).status().message(),
            "has 2 logical ranks (distribution.logical_ranks), which 4 "
            "processes cannot divide; run it on 1 or 2");
  EXPECT_EQ(placed(1, 0, 2).status().message(),
            "has 1 logical ranks (distribution.logical_ranks), which 2 "
            "processes cannot divide; run it on 1");
}

TEST(Place, IsForTheRanksThatAnArtifactNames) {
  gradus::test::TestArtifact made;
  made.header.ranks = 4;
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const artifact::Header &header = (*artifact)->header();
  const artifact::Plan &plan = *header.plans()->Get(0);
  EXPECT_TRUE(verifyTrainsOn(header, plan, 4).ok());
  EXPECT_EQ(verifyTrainsOn(header, plan, 2).message(),
            "is for 4 ranks (distribution.ranks), and runs on 2; run it on 4, "
            "or compile another with --set distribution.ranks=2");
  EXPECT_FALSE(verifyTrainsOn(header, plan, 1).ok());
  EXPECT_TRUE(placeOf(header, 0, 2).ok()) << "evaluates on any number";
}

TEST(Place, TrainsWhereRanksFillItsGroups) {
  auto artifact = combining(4, artifact::Across::nothing, /*elements=*/4);
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const artifact::Header &header = (*artifact)->header();
  const artifact::Plan &plan = *header.plans()->Get(0);
  for (int64_t ranks : {1, 3, 4, 8})
    EXPECT_TRUE(verifyTrainsOn(header, plan, ranks).ok()) << ranks;
  EXPECT_EQ(verifyTrainsOn(header, plan, 6).message(),
            "6 ranks are no groups of 4, which adasum.within says; run it on "
            "a multiple of 4, or compile it with --set "
            "distribution.adasum.within=1");
}

TEST(Place, TrainsWhereRanksGatherWholeLines) {
  auto artifact = combining(1, artifact::Across::gather, /*elements=*/96);
  ASSERT_TRUE(artifact.ok()) << artifact.status();
  const artifact::Header &header = (*artifact)->header();
  const artifact::Plan &plan = *header.plans()->Get(0);
  for (int64_t ranks : {1, 2, 3, 6})
    EXPECT_TRUE(verifyTrainsOn(header, plan, ranks).ok()) << ranks;
  EXPECT_THAT(verifyTrainsOn(header, plan, 4).message(),
              MatchesRegex("gathers buffer [0-9]+ of 384 bytes, expected whole "
                           "lines of 64 bytes from each of 4 ranks"));
  auto uneven = combining(1, artifact::Across::gather, /*elements=*/4);
  ASSERT_TRUE(uneven.ok()) << uneven.status();
  EXPECT_FALSE(verifyTrainsOn((*uneven)->header(),
                              *(*uneven)->header().plans()->Get(0), 1)
                   .ok());
}
