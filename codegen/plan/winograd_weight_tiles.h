// Divides the gradient of a convolution's weights, by the transposed algorithm,
// into items for threads.
#pragma once

#include "codegen/plan/winograd_tiles.h"

namespace gradus {

/// An item has a block of channels, a block of outputs, and a part of all
/// groups of tiles. It transforms the tiles of a group for its channels and its
/// outputs, and adds their products to planes of sums, which all stay in a
/// core's cache. Parts are summed at the end. So no item waits for another, and
/// sums are cut in the same way for any number of threads.
struct WinogradWeightTiles {
  /// The sizes of a block: `channels` and `outputs` are those of an item.
  WinogradSizes block;
  WinogradTiles group; // of tiles; all are equally large
  int64_t channelBlocks = 0, outputBlocks = 0;
  int64_t parts = 0, groupsOfPart = 0; // the last part may have fewer

  explicit WinogradWeightTiles(const WinogradSizes &sizes);

  int64_t groups() const { return group.imageGroups * group.rowGroups; }
  int64_t blocks() const { return channelBlocks * outputBlocks; }
  int64_t items() const { return parts * blocks(); }
  /// The elements of a plane: of transformed tiles by channels or outputs, and
  /// of sums.
  int64_t tilePlane(int64_t channels) const {
    return paddedPlane(group.tiles * paddedPlane(channels));
  }
  int64_t sumPlane() const {
    return paddedPlane(block.channels * block.outputs);
  }
  /// The bytes of an item's scratch.
  int64_t scratchBytes() const;
};

/// The choice for the gradient of weights. `sizes` are those of the
/// convolution.
WinogradChoice chooseWinogradWeights(const WinogradSizes &sizes,
                                     const WinogradRival &rival = {});

} // namespace gradus
