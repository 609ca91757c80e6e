#include "runtime/collectives/open_sums.h"

#include "recorded_collectives.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;
using gradus::test::RecordedCollectives;

TEST(OpenSums, AreWaitedForInTheOrderInWhichTheyBegan) {
  auto collectives = std::make_shared<RecordedCollectives>();
  OpenSums sums(collectives);
  std::vector<Collective> two(2), one(1);
  sums.begin(two);
  sums.begin({});
  sums.begin(one);
  EXPECT_TRUE(sums.finish().ok());
  EXPECT_EQ(collectives->finished, (std::vector<uint64_t>{0, 1}));
  EXPECT_TRUE(sums.finish().ok()); // It has no bytes.
  EXPECT_TRUE(sums.finish().ok());
  EXPECT_EQ(collectives->finished, (std::vector<uint64_t>{0, 1, 2}));
}

TEST(OpenSums, RefuseToWaitForWhatHasNotBegun) {
  OpenSums sums(std::make_shared<RecordedCollectives>());
  EXPECT_EQ(sums.finish().message(), "no sum over ranks has begun");
  sums.begin({});
  EXPECT_TRUE(sums.finish().ok());
  EXPECT_FALSE(sums.finish().ok());
}

/// The other ranks would add other sums to what is still under way.
TEST(OpenSums, EndTheGroupWhereAStepFails) {
  auto collectives = std::make_shared<RecordedCollectives>();
  OpenSums sums(collectives);
  std::vector<Collective> one(1);
  sums.begin(one);
  sums.giveUp(failed("no memory"));
  EXPECT_EQ(collectives->failure.message(), "no memory");
  EXPECT_EQ(sums.finish().message(), "no memory");
  sums.keep(std::make_shared<int>(1));
  EXPECT_EQ(collectives->kept.size(), 1u);
}

TEST(OpenSums, AreNotGivenUpWhereNoneIsOpen) {
  auto collectives = std::make_shared<RecordedCollectives>();
  OpenSums sums(collectives);
  std::vector<Collective> one(1);
  sums.begin(one);
  EXPECT_TRUE(sums.finish().ok());
  sums.giveUp(failed("no memory"));
  sums.keep(std::make_shared<int>(1));
  EXPECT_TRUE(collectives->failure.ok());
  EXPECT_TRUE(collectives->kept.empty());
}

TEST(OpenSums, ReturnTheErrorOfTheGroup) {
  auto collectives = std::make_shared<RecordedCollectives>();
  OpenSums sums(collectives);
  std::vector<Collective> one(1);
  sums.begin(one);
  collectives->failure = failed("rank 1 has failed: no space left");
  EXPECT_EQ(sums.finish().message(), "rank 1 has failed: no space left");
}
