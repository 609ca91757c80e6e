// Only a run whose losses spread around what was recorded may be let go.

#include "tests/tool/check/roundings.h"

#include <gtest/gtest.h>

#include <limits>

namespace gradus::check {
namespace {

const Json kRun = {{"losses", {2.0, 1.0}}, {"loss_rtol", {1e-5, 1e-5}}};

/// Of losses that are `first`, and up to `spread` more where the weights move.
bool hangs(std::vector<double> first, double spread) {
  return hangsOnRoundings(kRun, 2, [&](uint32_t seed) {
    std::vector<double> losses = first;
    losses[1] += spread * seed / 16;
    return losses;
  });
}

} // namespace

TEST(HangsOnRoundings, WhereLossesSpreadAroundWhatWasRecorded) {
  EXPECT_TRUE(hangs({2, 0.99}, 0.02));
  EXPECT_TRUE(hangs({2, 1}, 0.02));
}

TEST(HangsOnRoundings, NotWhereLossesAreSteady) {
  EXPECT_FALSE(hangs({2, 0.99}, 1e-6));
  EXPECT_FALSE(hangs({2, 1}, 0));
}

TEST(HangsOnRoundings, NotWhereWhatWasRecordedLiesOutside) {
  EXPECT_FALSE(hangs({2, 0.9}, 0.02));
  EXPECT_FALSE(hangs({2.1, 0.99}, 0.02)) << "of a step before they spread";
}

TEST(HangsOnRoundings, NotWhereLossesAreNoNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(hangs({nan, 0.99}, 0.02));
  EXPECT_FALSE(hangs({2, 0.99}, nan)) << "of moved weights";
}

} // namespace gradus::check
