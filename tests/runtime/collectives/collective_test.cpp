#include "runtime/collectives/collective.h"

#include <gtest/gtest.h>

using namespace gradus::runtime;

TEST(Collective, FallsIntoPartsOfWholeCacheLines) {
  EXPECT_EQ(partOf(64, DType::f32, 4, 0), (Range{0, 16}));
  EXPECT_EQ(partOf(64, DType::f32, 4, 3), (Range{48, 64}));
  EXPECT_EQ(partOf(65, DType::f32, 4, 0), (Range{0, 32}));
  EXPECT_EQ(partOf(65, DType::f32, 4, 2), (Range{64, 65}));
  EXPECT_EQ(partOf(65, DType::f32, 4, 3), (Range{65, 65}));
  EXPECT_EQ(partOf(100, DType::boolean, 3, 1), (Range{64, 100}));
  EXPECT_EQ(partOf(0, DType::f64, 3, 1), (Range{0, 0}));
}

TEST(Collective, HasPartsBeyondFourBillionElements) {
  uint64_t count = uint64_t{3} << 33;
  for (int rank = 0; rank < 128; ++rank)
    EXPECT_EQ(partOf(count, DType::u8, 128, rank),
              (Range{count / 128 * static_cast<uint64_t>(rank),
                     count / 128 * static_cast<uint64_t>(rank + 1)}));
}

TEST(Collective, IsCalledByItsOpSizeAndType) {
  Collective collective{.count = 4096};
  EXPECT_EQ(inWords(collective), "all-reduce of 4096 f32");
  collective.op = CollectiveOp::broadcast;
  collective.type = DType::boolean;
  EXPECT_EQ(inWords(collective), "broadcast of 4096 bool");
}

TEST(Collective, IsRefusedWhereItMeansNothing) {
  Collective sum{.type = DType::boolean, .count = 2};
  EXPECT_EQ(check(sum, 2).message(),
            "all-reduce of 2 bool: booleans have no sum");
  sum.reduction = Reduction::minimum;
  EXPECT_TRUE(check(sum, 2).ok());
  Collective from{.op = CollectiveOp::broadcast, .count = 1, .root = 2};
  EXPECT_EQ(check(from, 2).message(),
            "broadcast of 1 f32: expected a root below 2, found 2");
  EXPECT_TRUE(check(from, 3).ok());
}
