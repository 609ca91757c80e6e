// The sizes of a convolution's gradient behind a max pool, in which all
// elements but those that won are zeros, and an estimate that says where to
// visit only these.
#pragma once

#include "codegen/plan/nest.h"
#include "ir/window.h"

#include "llvm/ADT/Sequence.h"

namespace gradus {

/// The kernels keep an image of the input, or of its gradient, with the
/// channels last: `grid` positions, the convolution's padding among them, of
/// `lanes` numbers. A tap of the window lies at a distance from its first one
/// that is the same everywhere.
struct PooledSizes {
  Window window, pool;
  int64_t samples, channels, outputs; // the convolution's input and output
  llvm::SmallVector<int64_t> input;   // spatial sizes
  llvm::SmallVector<int64_t> won;     // spatial sizes of the pooled gradient
  llvm::SmallVector<int64_t> grid;    // spatial sizes of the image
  int64_t lanes = 0;                  // the channels and zeros behind them

  PooledSizes(Window window, MaxPoolBackwardOp op,
              llvm::ArrayRef<int64_t> inputShape)
      : window(window), pool(windowOf(op)), samples(inputShape[0]),
        channels(inputShape[1]), outputs(op.getType().getDimSize(1)),
        input(inputShape.drop_front(2)),
        won(shapeOf(op.getGradient()).drop_front(2)),
        computed_(product(op.getType().getShape().drop_front(2))) {
    for (auto [d, size] : llvm::enumerate(input))
      grid.push_back(size + window.padsBegin[d] + window.padsEnd[d]);
    // Whole vectors at multiples of their size: a load finds what the store
    // before it wrote.
    lanes = llvm::alignTo(channels, channels <= 8 ? 8 : 16);
  }

  int64_t rank() const { return window.rank(); }
  int64_t taps() const { return product(window.size); }
  /// The positions of an image, and those that won in a channel of a sample.
  int64_t positions() const { return product(grid); }
  int64_t winners() const { return product(won); }
  /// The positions between neighbours along spatial dimension `d`.
  int64_t stride(int64_t d) const {
    return product(llvm::ArrayRef(grid).drop_front(d + 1));
  }
  /// The distance of the last tap from the first.
  int64_t reach() const {
    int64_t distance = 0;
    for (int64_t d = 0; d < rank(); ++d)
      distance += (window.reach(d) - 1) * stride(d);
    return distance;
  }
  int64_t flops() const {
    return 2 * samples * outputs * winners() * taps() * channels;
  }

  /// Whether the kernels can compute it.
  bool fits() const {
    constexpr int64_t mostScratch = 128 * 1024, mostWeights = 256 * 1024;
    auto isZero = [](int64_t pad) { return pad == 0; };
    return llvm::all_of(pool.padsBegin, isZero) &&
           llvm::all_of(pool.padsEnd, isZero) &&
           4 * (positions() * lanes + outputs * winners()) <= mostScratch &&
           4 * outputs * taps() * lanes <= mostWeights;
  }

  /// Whether it takes less time than all elements do, by cycles of a core for a
  /// sample. Eight lanes are read, added to and written in one; a sum of
  /// products in registers takes 16 at 0.7 of the peak. An image's element and
  /// a position take about two.
  bool pays() const {
    double chosen = double(winners()), taps = double(this->taps()),
           few = double(outputs) * chosen * (taps * double(lanes) / 8 + 2) +
                 2 * double(positions() * lanes),
           all = double(outputs) * double(computed_) * taps * double(channels) /
                 (16 * 0.7);
    return samples >= 8 && few < all;
  }

private:
  int64_t computed_; // outputs of the convolution for each channel
};

} // namespace gradus
