#include "tool/train/meetings.h"

#include "tool/failure.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

namespace {

std::string refusal(int64_t every, int64_t steps, int64_t testEvery) {
  try {
    checkMeetings(every, steps, testEvery);
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, kBadInput);
    return failure.what();
  }
  return "";
}

} // namespace

TEST(Meetings, AreWhereARunEndsAndIsTested) {
  EXPECT_EQ(refusal(1, 7, 3), "");
  EXPECT_EQ(refusal(20, 100, 40), "");
  EXPECT_EQ(refusal(20, 100, 0), "");
  EXPECT_EQ(refusal(20, 132, 20),
            "the run has 132 steps, but ranks meet after every 20 "
            "(distribution.every), and each has weights of its own in between; "
            "take --steps 140");
  EXPECT_EQ(refusal(20, 140, 44),
            "tests are due after every 44 steps, but ranks meet after every 20 "
            "(distribution.every), and each has weights of its own in between; "
            "take --eval-every 40steps");
  EXPECT_EQ(refusal(20, 3, 0).substr(0, 24), "the run has 3 steps, but");
}
