// Which states are no longer finite.

#include "frontends/cli/spoiled_states.h"
#include "tests/frontends/cli/adder.h"

#include <gtest/gtest.h>

#include <cmath>

using namespace gradus::cli;

namespace {

/// An adder whose state `total` is all `x`, a slot if so wanted.
struct Total {
  explicit Total(float x, bool slot = false) : adder(artifact(slot)) {
    session = adder.open();
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
    EXPECT_TRUE(session->writeState("total", values.data(), 32).ok());
  }

  Adder adder;
  std::unique_ptr<gradus::runtime::Session> session;
};

} // namespace

TEST(SpoiledStates, AreThoseThatAreNoLongerFinite) {
  Total total(1);
  SpoiledStates spoiled(*total.session, false);
  EXPECT_EQ(spoiled.first(), "");
  for (float x : {NAN, INFINITY, -INFINITY}) {
    total.set(x);
    EXPECT_EQ(spoiled.first(), "total");
  }
}

TEST(SpoiledStates, AreNoneThatWereNotFiniteAtFirst) {
  Total total(-INFINITY);
  EXPECT_EQ(SpoiledStates(*total.session, false).first(), "");
}

TEST(SpoiledStates, MayBeWeightsAlone) {
  for (bool slot : {false, true}) {
    Total total(1, slot);
    SpoiledStates all(*total.session, false), weights(*total.session, true);
    total.set(INFINITY);
    EXPECT_EQ(all.first(), "total");
    EXPECT_EQ(weights.first(), slot ? "" : "total");
  }
}
