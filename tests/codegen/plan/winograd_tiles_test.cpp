// Tiles cover every output once, items fit the caches, and the estimates choose
// what was measured to be faster.

#include "codegen/plan/winograd_tiles.h"

#include <gtest/gtest.h>

#include <tuple>

using namespace gradus;

namespace {

WinogradSizes sizesOf(int64_t images, int64_t channels, int64_t side,
                      int64_t pad = 1) {
  WinogradSizes sizes;
  sizes.images = images;
  sizes.channels = sizes.outputs = channels;
  sizes.height = sizes.width = side;
  sizes.rows = sizes.columns = side + 2 * pad - 2;
  sizes.padTop = sizes.padLeft = pad;
  return sizes;
}

WinogradSizes small(WinogradSizes sizes) {
  sizes.tile = 2;
  return sizes;
}

llvm::StringRef reasonAgainst(const WinogradSizes &sizes,
                              const WinogradRival &rival = {}) {
  return chooseWinograd(sizes, rival).reason;
}

} // namespace

/// Segments cover all outputs, and know what of their tiles exists.
static void expectSegments(const WinogradSizes &sizes) {
  int64_t tile = 0, outputs = 0;
  for (const WinogradSegment &segment : winogradRows(sizes)) {
    EXPECT_EQ(segment.first, tile);
    tile = segment.end;
    outputs += segment.count() * segment.outputs;
    int64_t start = sizes.tile * segment.first - sizes.padTop,
            end = sizes.tile * (segment.end - 1) - sizes.padTop + sizes.side();
    EXPECT_EQ(segment.before, std::max<int64_t>(0, -start));
    EXPECT_EQ(segment.behind, std::max<int64_t>(0, end - sizes.height));
  }
  EXPECT_EQ(tile, sizes.tileRows());
  EXPECT_EQ(outputs, sizes.rows);
  EXPECT_LE(winogradRows(sizes).size(), 4u);
}

TEST(WinogradTiles, SegmentsCoverAllOutputs) {
  for (int64_t pad : {0, 1, 2})
    for (int64_t side = 3; side < 40; ++side) {
      SCOPED_TRACE(side);
      expectSegments(sizesOf(1, 32, side, pad));
      expectSegments(small(sizesOf(1, 32, side, pad)));
    }
}

TEST(WinogradTiles, ItemsHaveAllTilesAndFitTheCaches) {
  for (int64_t images : {1, 3, 8, 31, 32})
    for (int64_t channels : {32, 64, 256, 512})
      for (int64_t side : {4, 7, 14, 28, 32, 56, 112}) {
        WinogradSizes sizes = sizesOf(images, channels, side);
        WinogradTiles tiles(sizes);
        EXPECT_GE(tiles.imageGroups * tiles.images, images);
        EXPECT_LT((tiles.imageGroups - 1) * tiles.images, images);
        EXPECT_GE(tiles.rowGroups * tiles.rows, sizes.tileRows());
        if (reasonAgainst(sizes) != "its tiles are more than fit the caches") {
          EXPECT_LE(tiles.scratchBytes(sizes), kWinogradScratch);
        }
      }
}

TEST(WinogradTiles, PayWhereTheyWereFaster) {
  struct Measured {
    int64_t images, channels, side;
  };
  for (Measured m : {Measured{32, 64, 32},
                     {32, 128, 16},
                     {32, 256, 8},
                     {32, 512, 4},
                     {8, 64, 56},
                     {8, 128, 28},
                     {8, 256, 14},
                     {8, 512, 7},
                     {32, 32, 32},
                     // Other batches, some with one item more than threads.
                     {9, 256, 14},
                     {10, 256, 14},
                     {18, 256, 14},
                     {20, 512, 7},
                     {48, 512, 7},
                     {16, 256, 8}})
    EXPECT_EQ(reasonAgainst(sizesOf(m.images, m.channels, m.side)), "")
        << m.channels;
}

/// The library multiplies pairs of bf16 at more than twice the rate: tiles have
/// to be full.
TEST(WinogradTiles, PayBesidePairsWhereTheyAreFull) {
  for (auto [images, channels, side] :
       {std::tuple(32, 64, 32), {32, 256, 8}, {8, 64, 56}, {8, 128, 28}})
    EXPECT_EQ(reasonAgainst(sizesOf(images, channels, side), kPairs), "")
        << channels;
  for (auto [images, channels, side] :
       {std::tuple(8, 256, 14), {8, 512, 7}, {8, 64, 13}, {32, 512, 4}})
    EXPECT_EQ(reasonAgainst(sizesOf(images, channels, side), kPairs),
              "too much of its tiles is empty")
        << channels;
}

TEST(WinogradTiles, DoNotPayWhereThreadsWait) {
  EXPECT_EQ(reasonAgainst(sizesOf(2, 256, 14)),
            "it has too few items for many threads");
  EXPECT_EQ(WinogradTiles(sizesOf(2, 256, 14)).items(sizesOf(2, 256, 14)), 2);
}

/// Tiles of 2 pay where those of 4 would be mostly empty, or too few, and take
/// as long as others where these are as full.
TEST(WinogradTiles, OfTwoPayOnSmallImages) {
  for (auto [images, channels, side] : {std::tuple(32, 512, 2),
                                        {128, 512, 2},
                                        {32, 512, 6},
                                        {32, 256, 6},
                                        {8, 256, 9},
                                        {2, 256, 14}}) {
    WinogradSizes sizes = sizesOf(images, channels, side);
    EXPECT_FALSE(chooseWinograd(sizes).pays()) << channels << " " << side;
    EXPECT_TRUE(chooseWinograd(small(sizes)).pays()) << channels << " " << side;
    EXPECT_FALSE(chooseWinograd(small(sizes), kPairs).pays());
  }
  for (auto [images, channels, side] :
       {std::tuple(16, 512, 3), {16, 512, 5}, {64, 256, 3}})
    EXPECT_FALSE(chooseWinograd(small(sizesOf(images, channels, side))).pays());
  for (auto [images, channels, side] :
       {std::tuple(32, 64, 32), {8, 512, 7}, {8, 256, 10}}) {
    WinogradSizes sizes = sizesOf(images, channels, side);
    EXPECT_LT(chooseWinograd(sizes).ours, chooseWinograd(small(sizes)).ours);
  }
  WinogradSizes even = sizesOf(32, 256, 6);
  EXPECT_LE(chooseWinograd(small(even)).ours, chooseWinograd(even).ours);
}

/// With 16 channels transforms take most of the time, but the library is slow.
TEST(WinogradTiles, PayWithFewChannels) {
  for (auto [images, side] : {std::tuple(32, 32), {128, 32}, {128, 16}})
    EXPECT_TRUE(chooseWinograd(sizesOf(images, 16, side)).pays()) << side;
  EXPECT_FALSE(chooseWinograd(sizesOf(128, 16, 14)).pays());
  EXPECT_TRUE(chooseWinograd(small(sizesOf(128, 16, 14))).pays());
  EXPECT_FALSE(chooseWinograd(sizesOf(128, 16, 32), kPairs).pays());
}

TEST(WinogradTiles, DoNotPayForAllConvolutions) {
  EXPECT_EQ(reasonAgainst(sizesOf(64, 512, 2)),
            "too much of its tiles is empty");
  EXPECT_EQ(reasonAgainst(sizesOf(1, 64, 14)), "it is small");
  EXPECT_EQ(reasonAgainst(sizesOf(32, 24, 64)),
            "its channels are no multiple of 16");
  EXPECT_EQ(reasonAgainst(sizesOf(8, 64, 56, 3)), "its padding is not 0 to 2");
  EXPECT_EQ(reasonAgainst(sizesOf(1, 256, 1024)),
            "its tiles are more than fit the caches");
}

TEST(WinogradTiles, AreEnoughForSeveralThreads) {
  for (auto [images, channels, side] :
       {std::tuple(8, 256, 14), {32, 256, 8}, {32, 128, 16}, {8, 64, 56}}) {
    WinogradSizes sizes = sizesOf(images, channels, side);
    EXPECT_GE(WinogradTiles(sizes).items(sizes), 8) << channels;
  }
}

/// Of windows of 3 on 4 positions with padding of 1, two of 12 are outside.
TEST(WinogradTiles, KnowWhatIsPadding) {
  EXPECT_EQ(sizesOf(2, 32, 4).insideFlops(), 2 * 2 * 32 * 32 * 10 * 10);
  WinogradSizes without = sizesOf(2, 32, 9, 0);
  EXPECT_EQ(without.insideFlops(), without.directFlops());
  WinogradSizes wide = sizesOf(2, 32, 9, 2);
  EXPECT_EQ(wide.insideFlops(), 2 * 2 * 32 * 32 * 27 * 27);
}

/// The times in docs/internals/winograd.md in milliseconds: of forward passes
/// on two threads, of 236 GFLOP/s and 80 GB/s together.
TEST(WinogradTiles, TakeAboutAsLongAsMeasured) {
  struct Measured {
    int64_t images, channels, side;
    double direct, winograd;
  };
  WinogradRates rates{236e9, 80e9, 2};
  for (Measured m : {Measured{32, 64, 32, 10.2, 3.7},
                     {32, 128, 16, 9.6, 3.2},
                     {32, 256, 8, 8.9, 3.6},
                     {32, 512, 4, 8.0, 3.9},
                     {8, 64, 56, 7.9, 2.6},
                     {8, 128, 28, 7.8, 2.9},
                     {8, 256, 14, 7.3, 3.5},
                     {8, 512, 7, 7.2, 4.0},
                     {128, 16, 32, 3.7, 1.8}}) {
    WinogradSizes sizes = sizesOf(m.images, m.channels, m.side);
    EXPECT_NEAR(directSeconds(sizes, rates) * 1e3, m.direct, 0.25 * m.direct);
    EXPECT_NEAR(winogradSeconds(sizes, rates) * 1e3, m.winograd,
                0.25 * m.winograd);
  }
  for (Measured m : {Measured{128, 512, 2, 9.8, 6.1},
                     {32, 512, 2, 2.8, 1.9},
                     {32, 512, 6, 20.1, 17.0},
                     {32, 256, 6, 5.3, 3.7},
                     {8, 256, 9, 3.2, 2.6},
                     {64, 128, 6, 2.4, 1.5},
                     {128, 16, 32, 4.0, 2.5}}) {
    WinogradSizes sizes = small(sizesOf(m.images, m.channels, m.side));
    EXPECT_NEAR(directSeconds(sizes, rates) * 1e3, m.direct, 0.25 * m.direct);
    EXPECT_NEAR(winogradSeconds(sizes, rates) * 1e3, m.winograd,
                0.25 * m.winograd);
  }
}

/// Of 8 items on 16 threads each takes as long as on 8.
TEST(WinogradTiles, TakeAsLongAsTheirItems) {
  WinogradSizes few = sizesOf(1, 256, 14);
  EXPECT_EQ(WinogradTiles(few).items(few), 8);
  EXPECT_DOUBLE_EQ(winogradSeconds(few, {1600e9, 1e12, 16}),
                   winogradSeconds(few, {800e9, 1e12, 8}));
}
