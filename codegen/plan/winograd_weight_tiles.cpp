// The numbers are for cores with a second-level cache of 1 MiB.

#include "codegen/plan/winograd_weight_tiles.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>

namespace gradus {

/// The largest number of tiles in one sum: its rounding grows with them.
static constexpr int64_t kMostTiles = 128;

int64_t WinogradWeightTiles::scratchBytes() const {
  return 4 * block.planes() *
         (tilePlane(block.channels) + tilePlane(block.outputs) + sumPlane());
}

/// How many times a number of tiles is the best, or that is it: with fewer sums
/// are written to memory more often, and more do not stay in the cache.
static double badnessOf(int64_t tiles) {
  constexpr double best = 32;
  return std::max(tiles / best, best / tiles);
}

/// Makes all groups of tiles equally large, so that no tile in them is missing:
/// whole images, or rows of one.
static void chooseGroups(WinogradWeightTiles &tiles) {
  const WinogradSizes &sizes = tiles.block;
  int64_t all = sizes.tileRows(), ofRow = sizes.tileColumns();
  double least = 0;
  tiles.group.tiles = 0;
  auto consider = [&](int64_t images, int64_t rows) {
    WinogradWeightTiles next = tiles;
    next.group.images = images;
    next.group.rows = rows;
    next.group.imageGroups = sizes.images / images;
    next.group.rowGroups = all / rows;
    next.group.tiles = images * rows * ofRow;
    double badness = badnessOf(next.group.tiles);
    if (next.scratchBytes() > kWinogradScratch ||
        next.group.tiles > kMostTiles ||
        (tiles.group.tiles && badness >= least))
      return;
    least = badness;
    tiles.group = next.group;
  };
  for (int64_t rows = 1; rows < all; ++rows)
    if (all % rows == 0)
      consider(1, rows);
  for (int64_t images = 1; images <= sizes.images; ++images)
    if (sizes.images % images == 0)
      consider(images, all);
}

WinogradWeightTiles::WinogradWeightTiles(const WinogradSizes &sizes)
    : block(sizes), group(sizes) {
  // Rows of wide images are many tiles, which leave room for fewer channels.
  for (int64_t most : {64, 32, 16}) {
    block.channels = winogradBlock(sizes.channels, most);
    block.outputs = winogradBlock(sizes.outputs, most);
    chooseGroups(*this);
    if (group.tiles)
      break;
  }
  if (!group.tiles)
    return;
  channelBlocks = sizes.channels / block.channels;
  outputBlocks = sizes.outputs / block.outputs;
  constexpr int64_t wantedItems = 16;
  int64_t wanted =
      std::clamp<int64_t>(llvm::divideCeil(wantedItems, blocks()), 1, groups());
  groupsOfPart = llvm::divideCeil(groups(), wanted);
  parts = llvm::divideCeil(groups(), groupsOfPart);
}

static double winogradWeightsSeconds(const WinogradSizes &sizes,
                                     const WinogradRates &rates) {
  double share = sizes.isNarrow() ? winogradShareOfFew(sizes.tile)
                                  : winogradWeightsShare(sizes.tile);
  return std::max(sizes.productFlops() / (share * rates.flops),
                  trafficSeconds(sizes, rates));
}

WinogradChoice chooseWinogradWeights(const WinogradSizes &sizes,
                                     const WinogradRival &rival) {
  // A direct sum of n products rounds as the root of n does, while what the
  // transforms round is a part of each product: relative to a sum of few, it
  // would be more than the rule of docs/precision.md allows.
  constexpr int64_t leastPositions = 128, leastTiles = 8;
  llvm::StringRef reason = reasonAgainstSizes(sizes);
  if (!reason.empty())
    return {.reason = reason};
  if (sizes.images * sizes.rows * sizes.columns < leastPositions)
    return {.reason = "it sums few positions"};
  WinogradWeightTiles tiles(sizes);
  if (tiles.group.tiles < leastTiles)
    return {.reason = "its tiles make no groups"};
  double share = sizes.isNarrow() ? kConvolutionWeightsShareOfFew
                                  : kConvolutionWeightsShare;
  return chosenByTimes(winogradWeightsSeconds(sizes, kUsualRates),
                       sizes.directFlops() /
                           (share * kUsualRates.flops * rival.rate),
                       tiles.items(), rival.savingOf(sizes.tile));
}

} // namespace gradus
