// Bytes that several buffers share count once.

#include "tool/inspect/arena_timeline.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

static MapEntry buffer(uint64_t offset, uint64_t size, int first, int last) {
  MapEntry entry;
  entry.offset = offset;
  entry.size = size;
  entry.first = first;
  entry.last = last;
  return entry;
}

TEST(ArenaTimeline, AddsWhatIsLiveAtEachCommand) {
  ArenaTimeline timeline = arenaTimeline(
      {buffer(0, 64, 0, 1), buffer(64, 128, 1, 2), buffer(192, 64, 2, 3)}, 3);
  EXPECT_EQ(timeline.live, (std::vector<uint64_t>{64, 192, 192}));
  EXPECT_EQ(timeline.peak, 192u);
  EXPECT_EQ(timeline.peakCommand, 1);
}

TEST(ArenaTimeline, CountsAResultInItsOperandsPlaceOnce) {
  ArenaTimeline timeline =
      arenaTimeline({buffer(0, 128, 0, 1), buffer(0, 64, 1, 1)}, 2);
  EXPECT_EQ(timeline.live, (std::vector<uint64_t>{128, 128}));
}

TEST(ArenaTimeline, LeavesStatesOut) {
  MapEntry state = buffer(0, 4096, 0, 0);
  state.region = gradus::artifact::Region::state;
  EXPECT_EQ(arenaTimeline({state}, 1).peak, 0u);
}
