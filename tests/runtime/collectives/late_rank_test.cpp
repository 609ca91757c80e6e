#include "runtime/collectives/late_rank.h"

#include <gtest/gtest.h>

#include <vector>

using namespace gradus::runtime;
using namespace std::chrono_literals;

namespace {

/// Each has spoken just now unless it says otherwise.
int lateOf(const std::vector<Whereabouts> &ranks, int waiting) {
  return lateRank(ranks, waiting, 3s);
}

} // namespace

TEST(LateRank, IsTheOneThatIsWaitedFor) {
  EXPECT_EQ(lateOf({{1, 7}, {-1, 7}}, 0), 1);
  EXPECT_EQ(lateOf({{-1, 7}, {0, 7}}, 1), 0);
}

TEST(LateRank, IsFoundByWayOfOthers) {
  EXPECT_EQ(lateOf({{1, 7}, {3, 7}, {-1, 6}, {2, 7}}, 0), 2);
  // Others may be behind, and still wait for somebody.
  EXPECT_EQ(lateOf({{1, 9}, {2, 8}, {-1, 8}}, 0), 2);
}

/// As with four ranks whose last one is stopped while it waits for rank 2: this
/// is what it goes on to have said.
TEST(LateRank, IsTheOneThatWasStoppedWhileItWaited) {
  EXPECT_EQ(lateOf({{2, 7}, {3, 7}, {3, 7}, {2, 7, 5s}}, 0), 3);
  EXPECT_EQ(lateOf({{2, 7}, {3, 7}, {3, 7}, {2, 7, 5s}}, 1), 3);
  EXPECT_EQ(lateOf({{2, 7}, {3, 7}, {3, 7}, {2, 7, 5s}}, 2), 3);
}

/// It has said that it waits for a rank that has done more by now.
TEST(LateRank, HasNotHeardOfWhatCameSince) {
  EXPECT_EQ(lateOf({{2, 7}, {-1, 7}, {3, 7}, {2, 6}}, 0), 3);
}

/// Nobody waits in a circle; who has been silent for longest has left it.
TEST(LateRank, IsTheMostSilentOfACircle) {
  EXPECT_EQ(lateOf({{1, 7}, {2, 7, 1s}, {1, 7, 2s}}, 0), 2);
  EXPECT_EQ(lateOf({{1, 7}, {2, 7, 2s}, {1, 7, 1s}}, 0), 1);
  EXPECT_EQ(lateOf({{1, 7}, {0, 7, 1s}}, 0), 1);
}
