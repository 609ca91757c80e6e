// An order can be cut wherever no op is on both sides.

#include "codegen/spans.h"

#include <gtest/gtest.h>

using gradus::Spans;

TEST(Spans, CanBeCutAnywhereAtFirst) {
  Spans spans(5);
  for (size_t place = 0; place < 5; ++place)
    EXPECT_EQ(spans.cutBefore(place), place);
}

TEST(Spans, AreNotCutInsideWhatIsJoined) {
  Spans spans(8);
  spans.join(2, 5);
  EXPECT_EQ(spans.cutBefore(2), 2u); // It is behind this cut as a whole.
  EXPECT_EQ(spans.cutBefore(3), 2u);
  EXPECT_EQ(spans.cutBefore(5), 2u);
  EXPECT_EQ(spans.cutBefore(6), 6u); // And before this one.
}

TEST(Spans, ReachAsFarAsTheyOverlap) {
  Spans spans(10);
  spans.join(1, 4);
  spans.join(3, 7);
  EXPECT_EQ(spans.cutBefore(7), 1u);
  EXPECT_EQ(spans.cutBefore(8), 8u);
  spans.join(7, 8); // They meet at a place.
  EXPECT_EQ(spans.cutBefore(8), 1u);
}

TEST(Spans, OfOnePlaceJoinNothing) {
  Spans spans(3);
  spans.join(1, 1);
  EXPECT_EQ(spans.cutBefore(2), 2u);
}
