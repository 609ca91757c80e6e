// Parts of about equal bytes, and those of SINGA.

#include "passes/distribution/parts.h"

#include <gmock/gmock.h>

using namespace gradus;
using testing::ElementsAre;

TEST(Parts, HaveAboutEqualBytes) {
  EXPECT_THAT(partsByBytes({768, 64, 640, 40}, 2), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(partsByBytes({40, 640, 64, 768}, 3), ElementsAre(2, 1, 2, 0));
  EXPECT_THAT(partsByBytes({5, 4, 3, 3, 3}, 2), ElementsAre(0, 1, 1, 0, 1));
}

TEST(Parts, OfEqualItemsAreInTheirOrder) {
  EXPECT_THAT(partsByBytes({4, 4, 4}, 3), ElementsAre(0, 1, 2));
  EXPECT_THAT(partsByBytes({4, 4, 4, 4, 4}, 2), ElementsAre(0, 1, 0, 1, 0));
}

TEST(Parts, AreOneForEachItemWhereThereAreAsMany) {
  EXPECT_THAT(partsByBytes({1, 1000, 1}, 3), ElementsAre(1, 0, 2));
  EXPECT_THAT(partsByBytes({7, 8}, 1), ElementsAre(0, 0));
  EXPECT_TRUE(partsByBytes({}, 4).empty());
}

/// The plan of its buckets: {0, 1, 2} have 12 elements, 3 is alone, {4, 5} have
/// 11, and 6 is left.
TEST(Parts, AreCutAsSingaDoes) {
  EXPECT_THAT(partsByElements({4, 4, 4, 11, 10, 1, 3}, 10),
              ElementsAre(0, 0, 0, 1, 2, 2, 3));
  EXPECT_THAT(partsByElements({10, 11, 1}, 10), ElementsAre(1, 0, 1))
      << "what is alone comes before the part that it leaves open";
  EXPECT_THAT(partsByElements({10, 10}, 20), ElementsAre(0, 0));
  EXPECT_THAT(partsByElements({2, 2, 2}, 1), ElementsAre(0, 1, 2));
  EXPECT_TRUE(partsByElements({}, 1).empty());
}
