#include "tool/train/meetings.h"

#include "tool/failure.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

namespace {

std::string refusal(int64_t every, int64_t steps, int64_t testEvery,
                    int64_t compareEvery = 0) {
  try {
    checkMeetings(every, steps, testEvery, compareEvery);
  } catch (const Failure &failure) {
    EXPECT_EQ(failure.code, kBadInput);
    return failure.what();
  }
  return "";
}

} // namespace

TEST(Meetings, AreWhereARunEndsAndIsTested) {
  EXPECT_EQ(refusal(0, 7, 3, 2), "") << "they share each update";
  EXPECT_EQ(refusal(1, 7, 3, 1), "");
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
  EXPECT_EQ(refusal(20, 40, 20, 30),
            "--check-replicas 30: ranks meet after every 20 steps "
            "(distribution.every), and each has weights of its own in between; "
            "take --check-replicas 40");
}

TEST(Meetings, AreNearToWhatWasAskedFor) {
  auto taken = [](int64_t steps) {
    std::string words = refusal(20, steps, 0);
    return words.substr(words.rfind(' ') + 1);
  };
  EXPECT_EQ(taken(3), "20");
  EXPECT_EQ(taken(29), "20");
  EXPECT_EQ(taken(31), "40");
  EXPECT_EQ(taken(INT64_MAX), "9223372036854775800");
}
