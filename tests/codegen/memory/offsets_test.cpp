#include "codegen/memory/offsets.h"

#include <gtest/gtest.h>

using namespace gradus;

/// Whether no two blocks that live together share a byte, and all fit.
static bool fits(const std::vector<PlannedBlock> &blocks,
                 const Packing &packing) {
  for (size_t a = 0; a < blocks.size(); ++a) {
    if (packing.offsets[a] + blocks[a].size > packing.size)
      return false;
    for (size_t b = 0; b < a; ++b)
      if (blocks[a].begin < blocks[b].end && blocks[b].begin < blocks[a].end &&
          packing.offsets[a] < packing.offsets[b] + blocks[b].size &&
          packing.offsets[b] < packing.offsets[a] + blocks[a].size)
        return false;
  }
  return true;
}

TEST(Offsets, BlocksThatNeverMeetShareMemory) {
  EXPECT_EQ(packBlocks({{128, 0, 1}, {128, 1, 2}, {64, 2, 3}}).size, 128);
}

TEST(Offsets, BlocksAliveTogetherLieApart) {
  std::vector<PlannedBlock> blocks = {{128, 0, 3}, {64, 1, 2}, {64, 2, 4}};
  Packing packing = packBlocks(blocks);
  EXPECT_TRUE(fits(blocks, packing));
  EXPECT_EQ(packing.size, livenessBound(blocks));
}

TEST(Offsets, TheBoundIsTheLargestSumAlive) {
  EXPECT_EQ(livenessBound({{64, 0, 2}, {128, 1, 3}, {256, 3, 4}}), 256);
  EXPECT_EQ(livenessBound({}), 0);
}

TEST(Offsets, AForwardAndBackwardPassPacksWithinFivePercentOfTheBound) {
  // Activation i lives from its layer to its mirror image in the backward pass;
  // gradients live for two commands. Sizes as a network has them.
  for (uint32_t seed = 1; seed < 30; ++seed) {
    std::vector<PlannedBlock> blocks;
    uint32_t random = seed;
    for (int64_t layer = 0; layer < 40; ++layer) {
      random = random * 1664525u + 1013904223u;
      int64_t size = 64 * (1 + (random >> 20) % 500);
      blocks.push_back({size, layer, 80 - layer});
      blocks.push_back({size, 80 - layer, 82 - layer});
    }
    Packing packing = packBlocks(blocks);
    ASSERT_TRUE(fits(blocks, packing));
    EXPECT_LE(packing.size, 1.05 * livenessBound(blocks)) << "seed " << seed;
  }
}

TEST(Offsets, TheSameBlocksGetTheSameOffsets) {
  std::vector<PlannedBlock> blocks = {
      {640, 0, 3}, {64, 1, 5}, {192, 2, 4}, {320, 3, 6}};
  EXPECT_EQ(packBlocks(blocks).offsets, packBlocks(blocks).offsets);
}
