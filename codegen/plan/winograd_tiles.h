// Divides a convolution by one of Winograd's algorithms, F(4x4, 3x3) or
// F(2x2, 3x3), into tiles of outputs, tiles into items for threads, and
// estimates the time that it takes, beside that of a direct convolution.
#pragma once

#include "codegen/plan/plan.h"
#include "runtime/rates.h"

namespace gradus {

/// Lanes of the blocked channels, and the side of the window.
constexpr int64_t kWinogradLanes = 16, kWinogradWindow = 3;

/// The largest scratch of an item in bytes: a second-level cache and nearly as
/// much again. It is on the stack of a thread, which has several MiB
/// (runtime/cpu/thread_pool.cpp).
constexpr int64_t kWinogradScratch = 1792 << 10;

/// The sizes of a convolution as the algorithm sees it: sums over `channels`
/// make `outputs` of a source. Of an input's gradient the source is the
/// gradient of the outputs, whose weights are rotated by 180 degrees; of the
/// weights' gradient it is the input.
struct WinogradSizes {
  int64_t images = 0, channels = 0, outputs = 0;
  int64_t height = 0, width = 0; // of the source
  int64_t rows = 0, columns = 0; // of the outputs
  int64_t padTop = 0, padLeft = 0;
  int64_t tile = 4; // the side of a tile of outputs, 4 or 2

  bool isNarrow() const { return std::min(channels, outputs) < kFewChannels; }
  /// The side of a tile's inputs, and the planes of transformed tiles.
  int64_t side() const { return tile + kWinogradWindow - 1; }
  int64_t planes() const { return side() * side(); }
  int64_t tileRows() const;
  int64_t tileColumns() const;
  int64_t tiles() const { return images * tileRows() * tileColumns(); }
  /// The FLOPs of a direct convolution, with those by padding and without, and
  /// those of the algorithm's products.
  int64_t directFlops() const;
  int64_t insideFlops() const;
  int64_t productFlops() const;
};

WinogradSizes winogradSizes(plan::WinogradOp op);
/// The sizes for the plain shapes of the source and of the outputs, and for the
/// zeros before the rows and columns of the input.
WinogradSizes winogradSizes(plan::WinogradKind kind,
                            llvm::ArrayRef<int64_t> source,
                            llvm::ArrayRef<int64_t> outputs,
                            llvm::ArrayRef<int64_t> pads);

/// Neighbouring tiles along a dimension that are alike: of the positions of the
/// source that each reads, as many lie before and behind the source, and of its
/// outputs as many exist.
struct WinogradSegment {
  int64_t first = 0, end = 0; // tiles
  int64_t before = 0, behind = 0, outputs = 0;

  int64_t count() const { return end - first; }
};

llvm::SmallVector<WinogradSegment> winogradRows(const WinogradSizes &sizes);
llvm::SmallVector<WinogradSegment> winogradColumns(const WinogradSizes &sizes);

/// The items of the kernel of forward and input gradient.
///
/// Either an item has a block of tiles: all columns of `rows` rows of tiles of
/// `images` images, and computes all their outputs, of weights that a kernel
/// before it transformed. Or, `byOutputs`, it has `block` outputs of all tiles,
/// which a kernel before it transformed, and transforms its weights itself: for
/// many weights and few tiles.
struct WinogradTiles {
  int64_t images = 0, rows = 0;
  int64_t imageGroups = 0, rowGroups = 0;
  int64_t tiles = 0; // of an item
  bool byOutputs = false;
  int64_t block = 0; // outputs that are computed together
  int64_t run = 0;   // channels of a sum, which is then added to others

  explicit WinogradTiles(const WinogradSizes &sizes);

  int64_t items(const WinogradSizes &sizes) const {
    return byOutputs ? sizes.outputs / block : imageGroups * rowGroups;
  }
  /// The bytes of an item's scratch.
  int64_t scratchBytes(const WinogradSizes &sizes) const;
};

/// The largest number of whole vectors, up to `most` lanes, that divides `all`.
int64_t winogradBlock(int64_t all, int64_t most);

/// The elements of a plane of transformed tiles or weights: a cache
/// line more than it needs, as planes at distances of a power of two would
/// share few sets of the cache.
constexpr int64_t paddedPlane(int64_t elements) {
  return elements + kWinogradLanes;
}

/// The rates of a machine, a second: f32 multiplications and additions, and
/// bytes of memory, of all of its threads.
struct WinogradRates {
  double flops, bytes;
  int64_t threads;
};

/// The time in which the larger tensors, in f32, pass through memory once.
double trafficSeconds(const WinogradSizes &sizes, const WinogradRates &rates);

/// The estimated time by the algorithm, and of a direct convolution by the
/// library, of a convolution or an input's gradient. A thread computes whole
/// items of the algorithm, while the library divides its work finely.
double winogradSeconds(const WinogradSizes &sizes, const WinogradRates &rates);
double directSeconds(const WinogradSizes &sizes, const WinogradRates &rates);

/// The library's direct convolutions beside which the algorithm has to pay:
/// their rate in parts of that of f32, and the part of their time that tiles of
/// 4 have to save, for the digits that they cost. Those of 2 cost hardly any.
struct WinogradRival {
  double rate = 1, saving = 1.0 / 3;

  double savingOf(int64_t tile) const {
    return tile == 4 ? saving : std::min(saving, 0.1);
  }
};
/// The rivals of bf16, which multiply pairs; their gradients of weights are
/// slower. Operands of 16 bits have few digits to lose.
constexpr WinogradRival kPairs = {2.1, 0.1}, kPairsForWeights = {1.8, 0.1};

/// Of two threads, all of which are busy.
constexpr WinogradRates kUsualRates = {540e9, 40e9, 1};

/// The reason why sizes are not for the algorithm in any direction; empty: they
/// are.
llvm::StringRef reasonAgainstSizes(const WinogradSizes &sizes);

/// Whether the algorithm pays with tiles of some size: in `ours` seconds, of
/// threads that are all busy, where the library takes `direct`. Otherwise
/// `reason` is why not.
struct WinogradChoice {
  double ours = 0, direct = 0;
  llvm::StringRef reason = {};

  bool pays() const { return reason.empty(); }
};

/// The choice by times; the algorithm has `items`.
WinogradChoice chosenByTimes(double ours, double direct, int64_t items,
                             double saving);

/// The choice for a convolution or an input's gradient.
WinogradChoice chooseWinograd(const WinogradSizes &sizes,
                              const WinogradRival &rival = {});

} // namespace gradus
