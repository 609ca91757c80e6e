// Gradients of weights are divided into items that no thread changes.

#include "codegen/plan/winograd_weight_tiles.h"

#include <gtest/gtest.h>

using namespace gradus;

namespace {

WinogradSizes sizesOf(int64_t images, int64_t channels, int64_t side) {
  WinogradSizes sizes;
  sizes.images = images;
  sizes.channels = sizes.outputs = channels;
  sizes.height = sizes.width = sizes.rows = sizes.columns = side;
  sizes.padTop = sizes.padLeft = 1;
  return sizes;
}

} // namespace

TEST(WinogradWeightTiles, FillTheCacheWithWholeGroups) {
  for (auto [images, channels, side, tiles] :
       {std::array<int64_t, 4>{32, 64, 32, 32},
        {32, 128, 16, 32},
        {32, 256, 8, 32},
        {32, 512, 4, 32},
        {8, 64, 56, 28},
        {8, 128, 28, 49},
        {8, 256, 14, 32},
        {8, 512, 7, 32}}) {
    WinogradSizes sizes = sizesOf(images, channels, side);
    WinogradWeightTiles found(sizes);
    EXPECT_EQ(found.group.tiles, tiles) << channels << " of " << side;
    EXPECT_EQ(found.groups() * found.group.tiles, sizes.tiles());
    EXPECT_GE(found.items(), 14);
    EXPECT_GE(found.parts * found.groupsOfPart, found.groups());
    EXPECT_LE(found.scratchBytes(), kWinogradScratch);
    EXPECT_EQ(chooseWinogradWeights(sizes).reason, "");
    EXPECT_EQ(chooseWinogradWeights(sizes, kPairsForWeights).reason, "");
  }
}

/// Tiles of 2 pay where those of 4 would be as many or mostly empty.
TEST(WinogradWeightTiles, OfTwoAreForSmallImages) {
  for (auto [images, channels, side, pays] : {std::tuple(32, 512, 2, true),
                                              {32, 512, 6, true},
                                              {16, 512, 5, true},
                                              {8, 512, 7, false},
                                              {8, 256, 9, false},
                                              {32, 64, 32, false}}) {
    WinogradSizes large = sizesOf(images, channels, side), small = large;
    small.tile = 2;
    EXPECT_TRUE(chooseWinogradWeights(small).pays());
    EXPECT_EQ(chooseWinogradWeights(small).ours <
                  chooseWinogradWeights(large).ours,
              pays)
        << channels << " of " << side;
    EXPECT_FALSE(chooseWinogradWeights(small, kPairsForWeights).pays());
  }
}

TEST(WinogradWeightTiles, OfTwoAreForFewChannels) {
  WinogradSizes large = sizesOf(128, 16, 32), small = large;
  small.tile = 2;
  EXPECT_FALSE(chooseWinogradWeights(large).pays());
  EXPECT_TRUE(chooseWinogradWeights(small).pays());
}

TEST(WinogradWeightTiles, HaveFewerChannelsWhereRowsAreWide) {
  WinogradWeightTiles found(sizesOf(2, 64, 224));
  EXPECT_EQ(found.group.tiles, 56);
  EXPECT_EQ(found.block.channels, 32);
  EXPECT_EQ(found.blocks(), 4);
  EXPECT_LE(found.scratchBytes(), kWinogradScratch);
}

TEST(WinogradWeightTiles, AreNoneWhereSumsOrGroupsAreSmall) {
  EXPECT_EQ(chooseWinogradWeights(sizesOf(1, 256, 11)).reason,
            "it sums few positions");
  EXPECT_EQ(chooseWinogradWeights(sizesOf(127, 128, 4)).reason,
            "its tiles make no groups");
}
