// States of rank 0 become those of all, and one that differs is found.

#include "runtime/well_known.h"
#include "tests/runtime/collectives/ranks.h"
#include "tests/training/adding.h"
#include "training/replicas.h"

#include <gmock/gmock.h>

using namespace gradus::runtime;
using namespace gradus::training;
using testing::HasSubstr;

namespace {

/// Sets all numbers of the state `total`.
void fill(Session &session, float value) {
  std::vector<float> values(8, value);
  ASSERT_TRUE(
      session.writeState("total", values.data(), values.size() * sizeof(float))
          .ok());
}

/// The comparison's error on each rank, where `other` has `value` in a state.
std::vector<std::string> compared(int ranks, int other, float value) {
  std::vector<std::string> errors(static_cast<size_t>(ranks));
  onRanks(inProcess(ranks), [&](CommunicationThread &rank) {
    gradus::test::Adding adding;
    fill(*adding.session, rank.rank() == other ? value : 1);
    errors[static_cast<size_t>(rank.rank())] =
        compareReplicas(*adding.session, rank, 7).message();
  });
  return errors;
}

} // namespace

TEST(Replicas, HaveTheStatesOfRankZero) {
  onRanks(inProcess(3), [](CommunicationThread &rank) {
    gradus::test::Adding adding;
    fill(*adding.session, 5 + static_cast<float>(rank.rank()));
    int64_t step = 40 + rank.rank();
    ASSERT_TRUE(adding.session->writeState("step", &step, sizeof(step)).ok());
    ASSERT_TRUE(copyFromRankZero(*adding.session, rank).ok());
    float values[8];
    ASSERT_TRUE(
        adding.session->readState("total", values, sizeof(values)).ok());
    EXPECT_THAT(values, testing::Each(5));
    EXPECT_EQ(*adding.session->stepCount(), 40);
  });
}

/// The number of a rank is its own.
TEST(Replicas, KeepTheirPlace) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    gradus::test::TestArtifact artifact;
    artifact.header.states[2]->name = gradus::well_known::kRank;
    artifact.header.states[2]->role = gradus::artifact::Role::place;
    gradus::test::Adding adding(artifact);
    EXPECT_TRUE(copyFromRankZero(*adding.session, rank).ok());
    EXPECT_TRUE(compareReplicas(*adding.session, rank, 1).ok());
  });
}

/// What waits for the next turn is a rank's own.
TEST(Replicas, KeepWhatIsScratch) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    gradus::test::TestArtifact artifact;
    artifact.addTurns();
    gradus::test::Adding adding(artifact);
    std::vector<float> own(8, static_cast<float>(rank.rank())), found(8);
    ASSERT_TRUE(adding.session->writeState("waiting", own.data(), 32).ok());
    EXPECT_TRUE(compareReplicas(*adding.session, rank, 1).ok());
    EXPECT_TRUE(copyFromRankZero(*adding.session, rank).ok());
    ASSERT_TRUE(adding.session->readState("waiting", found.data(), 32).ok());
    EXPECT_EQ(found, own);
  });
}

TEST(Replicas, AreEqualToTheBit) {
  for (const std::string &error : compared(3, 2, 1))
    EXPECT_EQ(error, "");
  for (const std::string &error : compared(3, 2, 1 + 1e-7f)) {
    EXPECT_THAT(error, HasSubstr("after step 7 the hash of the state total"));
    EXPECT_THAT(error, HasSubstr("on rank 2 (this process)"));
  }
}

TEST(Replicas, AreComparedAtAnIntervalAndAtTheEnd) {
  onRanks(inProcess(2), [](CommunicationThread &rank) {
    gradus::test::Adding adding;
    fill(*adding.session, static_cast<float>(rank.rank()));
    ReplicaCheck check(*adding.session, rank, 10);
    std::vector<Metric> figures;
    auto isFound = [&](int64_t step) {
      return !check.onPiece({step, 25, figures, 1, 0}).ok();
    };
    EXPECT_FALSE(isFound(9));
    EXPECT_TRUE(isFound(10));
    EXPECT_FALSE(isFound(15));
    EXPECT_TRUE(isFound(25));
  });
}
