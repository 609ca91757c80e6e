#include "tool/session/rank_range.h"

#include <gmock/gmock.h>

using namespace gradus::cli;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(RankRange, HasItsEndsAndThePowersOfTwoBetween) {
  EXPECT_THAT(rankRangeOf("2..16")->counts(), ElementsAre(2, 4, 8, 16));
  EXPECT_THAT(rankRangeOf("3..20")->counts(), ElementsAre(3, 4, 8, 16, 20));
  EXPECT_THAT(rankRangeOf("1..3")->counts(), ElementsAre(1, 2, 3));
  EXPECT_THAT(rankRangeOf("6..6")->counts(), ElementsAre(6));
  EXPECT_EQ(rankRangeOf("1..4096")->counts().size(), 13u);
  EXPECT_THAT(RankRange().counts(), IsEmpty());
}

TEST(RankRange, IsNothingElse) {
  for (const char *text :
       {"", "2", "2..", "..4", "4..2", "0..4", "2..4097", "2...4", "2..4..8",
        "-2..4", "2.. 4", "2..04", "2..4x", "2..99999999999999999999"})
    EXPECT_FALSE(rankRangeOf(text)) << text;
}
