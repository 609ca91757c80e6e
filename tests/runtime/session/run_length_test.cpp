// The length of a run: awaited before a step of training, given once.

#include "runtime/session/run_length.h"

#include "runtime/well_known.h"
#include "tests/runtime/test_artifact.h"

#include <gtest/gtest.h>

using namespace gradus;
using namespace gradus::runtime;
using namespace gradus::test;

namespace {

/// Adds a number of the recipe to the states, which is 0 at first.
void addNumber(TestArtifact &made, const char *name) {
  artifact::StateT state;
  state.name = name;
  state.role = artifact::Role::hyperparameter;
  state.type = std::make_unique<artifact::TensorTypeT>();
  state.type->dtype = artifact::DType::f64;
  state.minimum = 1;
  made.header.states.push_back(
      std::make_unique<artifact::StateT>(std::move(state)));
  made.plan().state_offsets.push_back(made.plan().state_bytes);
  made.plan().state_bytes += 64;
}

std::unique_ptr<Session> waiting() {
  TestArtifact made;
  addNumber(made, well_known::kUpdates);
  addNumber(made, well_known::kUpdatesPerEpoch);
  auto artifact = Artifact::fromBytes(made.bytes(), "adder");
  EXPECT_TRUE(artifact.ok()) << artifact.status().message();
  auto session = Session::create(*artifact);
  EXPECT_TRUE(session.ok()) << session.status().message();
  return *std::move(session);
}

} // namespace

TEST(RunLength, IsAwaitedByTraining) {
  auto session = waiting();
  EXPECT_EQ(session->step(0).message(),
            "adder: schedule.updates is 0, expected the length of "
            "the run: set it before the first step of training");
  EXPECT_TRUE(session->step(1).ok()) << "evaluation asks for none";
  ASSERT_TRUE(giveRunLength(*session, {100, 12.5}).ok());
  EXPECT_TRUE(session->step(0).ok());
}

TEST(RunLength, IsGivenOnce) {
  auto session = waiting();
  double said = 40;
  ASSERT_TRUE(
      session->writeState(well_known::kUpdates, &said, sizeof(said)).ok());
  ASSERT_TRUE(giveRunLength(*session, {100, 12.5}).ok());
  auto length = runLengthOf(*session);
  ASSERT_TRUE(length.ok());
  EXPECT_EQ(length->updates, 40);
  EXPECT_EQ(length->updatesPerEpoch, 12.5);
}

TEST(RunLength, IsNothingWhereNoScheduleAsks) {
  auto artifact = Artifact::fromBytes(TestArtifact().bytes(), "adder");
  auto session = *Session::create(*artifact);
  EXPECT_TRUE(giveRunLength(*session, {100, 10}).ok());
  EXPECT_EQ(runLengthOf(*session)->updates, 0);
  EXPECT_TRUE(session->step(0).ok());
}
