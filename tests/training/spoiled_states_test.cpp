// Which states are no longer finite.

#include "tests/training/adding.h"
#include "training/spoiled_states.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gradus::training;

namespace {

/// An adder whose state `total` is all `x`, a slot if so wanted.
struct Total {
  explicit Total(float x, bool slot = false, const char *device = "cpu")
      : adding(artifact(slot), device), session(*adding.session) {
    set(x);
  }

  static gradus::test::TestArtifact artifact(bool slot) {
    gradus::test::TestArtifact artifact;
    if (slot)
      artifact.header.states[0]->role = gradus::artifact::Role::slot;
    return artifact;
  }

  void set(float x) {
    std::vector<float> values(gradus::test::kSize, 1);
    values.back() = x;
    EXPECT_TRUE(session.writeState("total", values.data(), 32).ok());
  }

  gradus::test::Adding adding;
  gradus::runtime::Session &session;
};

SpoiledStates statesOf(const Total &total, bool weightsAlone) {
  return *SpoiledStates::create(total.session, weightsAlone);
}

} // namespace

TEST(SpoiledStates, AreThoseThatAreNoLongerFinite) {
  for (const char *device : {"cpu", "fake"}) {
    Total total(1, false, device);
    SpoiledStates spoiled = statesOf(total, false);
    EXPECT_EQ(*spoiled.first(), "");
    for (float x : {NAN, INFINITY, -INFINITY}) {
      total.set(x);
      EXPECT_EQ(*spoiled.first(), "total");
    }
  }
}

TEST(SpoiledStates, AreThoseThatAStepSpoils) {
  for (const char *device : {"cpu", "fake"}) {
    Total total(1, false, device);
    SpoiledStates spoiled = statesOf(total, false);
    std::vector<float> x(gradus::test::kSize, INFINITY);
    const void *inputs[] = {x.data()};
    ASSERT_TRUE(total.session.step(0, inputs).ok());
    EXPECT_EQ(*spoiled.first(), "total") << device;
  }
}

TEST(SpoiledStates, AreNoneThatWereNotFiniteAtFirst) {
  Total total(-INFINITY);
  EXPECT_EQ(*statesOf(total, false).first(), "");
}

TEST(SpoiledStates, MayBeWeightsAlone) {
  for (bool slot : {false, true}) {
    Total total(1, slot);
    SpoiledStates all = statesOf(total, false), weights = statesOf(total, true);
    total.set(INFINITY);
    EXPECT_EQ(*all.first(), "total");
    EXPECT_EQ(*weights.first(), slot ? "" : "total");
  }
}

/// A sum of which more is to come may overflow in a step that is skipped.
TEST(SpoiledStates, AreNoneThatNoCheckpointHas) {
  gradus::test::TestArtifact made;
  made.addTurns();
  gradus::test::Adding adding(made);
  auto spoiled = *SpoiledStates::create(*adding.session, false);
  std::vector<float> x(gradus::test::kSize, NAN);
  const void *inputs[] = {x.data()};
  ASSERT_TRUE(adding.session->step(0, inputs).ok());
  EXPECT_EQ(*spoiled.first(), "");
  ASSERT_TRUE(adding.session->step(0, inputs).ok());
  EXPECT_EQ(*spoiled.first(), "total");
}
