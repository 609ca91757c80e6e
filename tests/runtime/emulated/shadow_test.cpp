// Which accesses need a barrier between them.

#include "runtime/emulated/shadow.h"

#include <gtest/gtest.h>

using namespace gradus::runtime::emulated;

namespace {

/// A thread of a block after so many barriers of the block and of its warp.
Moment at(int32_t thread, uint32_t barriers = 0, uint32_t warpBarriers = 0,
          int32_t block = 0) {
  return {block, thread, barriers, warpBarriers};
}

struct ShadowTest : ::testing::Test {
  void SetUp() override { shadow.reset(64, 4); }
  std::string read(Moment now, int64_t offset = 0) {
    return shadow.read(offset, 4, now, false);
  }
  std::string write(Moment now, int64_t offset = 0) {
    return shadow.write(offset, 4, now);
  }
  Shadow shadow;
};

} // namespace

TEST_F(ShadowTest, WantsABarrierBetweenWriterAndReader) {
  EXPECT_EQ(write(at(1)), "");
  EXPECT_EQ(read(at(1)), "");
  EXPECT_EQ(read(at(2)), "reads what thread 1 of block 0 writes, with no "
                         "barrier between them");
  EXPECT_EQ(read(at(2, 1)), "");
  EXPECT_EQ(read(at(7, 0), 8), "");
}

TEST_F(ShadowTest, WantsABarrierBetweenReadersAndWriter) {
  EXPECT_EQ(read(at(1)), "");
  EXPECT_EQ(read(at(40)), "");
  EXPECT_EQ(write(at(40)), "writes what thread 40 of block 0 reads, with no "
                           "barrier between them");
  EXPECT_EQ(write(at(40, 1)), "");
  EXPECT_EQ(write(at(3, 1)), "writes what thread 40 of block 0 writes too, "
                             "with no barrier between them");
}

/// A warp's own barrier is enough for it, and not for other warps.
TEST_F(ShadowTest, KnowsBarriersOfWarps) {
  EXPECT_EQ(write(at(1)), "");
  EXPECT_EQ(read(at(2, 0, 1)), "");
  EXPECT_EQ(read(at(3, 0, 1)), "");
  EXPECT_NE(write(at(3, 0, 1)), "");
  EXPECT_EQ(write(at(3, 0, 2)), "");
  EXPECT_NE(read(at(33, 0, 5)), "");
}

TEST_F(ShadowTest, KeepsBlocksApart) {
  EXPECT_EQ(read(at(1)), "");
  EXPECT_EQ(read(at(1, 0, 0, 1)), "");
  EXPECT_NE(write(at(1, 9, 0, 1)), "");
  EXPECT_EQ(write(at(1), 4), "");
  EXPECT_NE(read(at(1, 9, 0, 1), 4), "");
}

TEST_F(ShadowTest, SeesWhatNobodyWrote) {
  EXPECT_EQ(shadow.read(0, 8, at(0), true), "reads what no thread has written");
  EXPECT_EQ(shadow.write(0, 8, at(0)), "");
  EXPECT_EQ(shadow.read(0, 8, at(0), true), "");
}
