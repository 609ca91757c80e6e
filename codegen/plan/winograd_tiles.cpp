// The numbers are measured on cores with 32 registers of 16 lanes, 1 MiB of
// second-level cache each and 32 MiB that they share.

#include "codegen/plan/winograd_tiles.h"

#include "codegen/plan/nest.h"

#include "llvm/Support/MathExtras.h"

namespace gradus {
using namespace mlir;
using plan::WinogradKind;

//===-- sizes -------------------------------------------------------------===//

int64_t WinogradSizes::tileRows() const { return llvm::divideCeil(rows, tile); }
int64_t WinogradSizes::tileColumns() const {
  return llvm::divideCeil(columns, tile);
}
int64_t WinogradSizes::directFlops() const {
  return 18 * images * rows * columns * channels * outputs;
}

/// The positions of windows along a dimension that are in the source.
static int64_t insideAlong(int64_t size, int64_t results, int64_t pad) {
  int64_t inside = 0;
  for (int64_t tap = 0; tap < 3; ++tap)
    inside += std::max<int64_t>(0, std::min(results, size + pad - tap) -
                                       std::max<int64_t>(0, pad - tap));
  return inside;
}

int64_t WinogradSizes::insideFlops() const {
  return 2 * images * channels * outputs * insideAlong(height, rows, padTop) *
         insideAlong(width, columns, padLeft);
}
int64_t WinogradSizes::productFlops() const {
  return 2 * planes() * tiles() * channels * outputs;
}

WinogradSizes winogradSizes(WinogradKind kind, ArrayRef<int64_t> source,
                            ArrayRef<int64_t> outputs, ArrayRef<int64_t> pads) {
  bool rotates = kind == WinogradKind::input_gradient;
  WinogradSizes sizes;
  sizes.images = source[0];
  sizes.channels = source[1];
  sizes.outputs = outputs[1];
  sizes.height = source[2];
  sizes.width = source[3];
  sizes.rows = outputs[2];
  sizes.columns = outputs[3];
  sizes.padTop = rotates ? 2 - pads[0] : pads[0];
  sizes.padLeft = rotates ? 2 - pads[1] : pads[1];
  return sizes;
}

WinogradSizes winogradSizes(plan::WinogradOp op) {
  auto plain = [](Value blocks) {
    SmallVector<int64_t> shape(shapeOf(blocks));
    shape[1] *= shape.pop_back_val();
    return shape;
  };
  bool givesWeights = op.getKind() == WinogradKind::weight_gradient;
  WinogradSizes sizes = winogradSizes(
      op.getKind(), plain(op.getSource()),
      plain(givesWeights ? op.getOther() : op.getResult()), op.getPads());
  sizes.tile = op.getTile();
  return sizes;
}

static SmallVector<WinogradSegment> segmentsOf(const WinogradSizes &sizes,
                                               int64_t size, int64_t results,
                                               int64_t pad) {
  SmallVector<WinogradSegment> segments;
  int64_t side = sizes.side();
  for (int64_t first = 0; first < results; first += sizes.tile) {
    int64_t start = first - pad, tile = first / sizes.tile;
    WinogradSegment one{tile, tile + 1, std::clamp<int64_t>(-start, 0, side),
                        std::clamp<int64_t>(start + side - size, 0, side),
                        std::min(sizes.tile, results - first)};
    WinogradSegment *last = segments.empty() ? nullptr : &segments.back();
    if (last && last->before == one.before && last->behind == one.behind &&
        last->outputs == one.outputs)
      last->end = one.end;
    else
      segments.push_back(one);
  }
  return segments;
}

SmallVector<WinogradSegment> winogradRows(const WinogradSizes &sizes) {
  return segmentsOf(sizes, sizes.height, sizes.rows, sizes.padTop);
}
SmallVector<WinogradSegment> winogradColumns(const WinogradSizes &sizes) {
  return segmentsOf(sizes, sizes.width, sizes.columns, sizes.padLeft);
}

//===-- items -------------------------------------------------------------===//

int64_t winogradBlock(int64_t all, int64_t most) {
  int64_t size = most;
  while (size > kWinogradLanes && all % size)
    size -= kWinogradLanes;
  return size;
}

/// Transformed tiles of an item stay in the second-level cache, or nearly so.
/// Where tiles are few, smaller groups give more threads some, though each
/// reads the weights again.
static int64_t mostTiles(const WinogradSizes &sizes) {
  constexpr int64_t few = 4096, mostBytes = 1280 * 1024; // few outputs
  int64_t wanted = sizes.tiles() * sizes.tile * sizes.tile < few ? 16 : 36;
  if (sizes.tile == 2)
    wanted *= 2;
  return std::clamp<int64_t>(mostBytes / (4 * sizes.planes() * sizes.channels),
                             1, wanted);
}

WinogradTiles::WinogradTiles(const WinogradSizes &sizes)
    : block(winogradBlock(sizes.outputs, 32)),
      run(winogradBlock(sizes.channels, 64)) {
  int64_t all = sizes.tileRows(), ofRow = sizes.tileColumns(),
          most = mostTiles(sizes);
  // Transformed weights that do not stay in the cache that cores share are
  // read again by each item.
  constexpr int64_t mostWeights = 10 << 20, mostProducts = 64 * 36;
  byOutputs =
      sizes.tiles() * sizes.planes() <= mostProducts &&
      (4 * sizes.planes() * sizes.channels * sizes.outputs > mostWeights ||
       sizes.tiles() < 2 * most);
  if (byOutputs) {
    images = sizes.images;
    rows = all;
  } else {
    int64_t fit = std::clamp<int64_t>(most / ofRow, 1, all);
    rows = llvm::divideCeil(all, llvm::divideCeil(all, fit));
    fit = rows < all
              ? 1
              : std::clamp<int64_t>(most / (all * ofRow), 1, sizes.images);
    images =
        llvm::divideCeil(sizes.images, llvm::divideCeil(sizes.images, fit));
  }
  imageGroups = llvm::divideCeil(sizes.images, images);
  rowGroups = llvm::divideCeil(all, rows);
  tiles = images * rows * ofRow;
}

int64_t WinogradTiles::scratchBytes(const WinogradSizes &sizes) const {
  int64_t products = sizes.planes() * paddedPlane(tiles * block);
  if (!byOutputs)
    return 4 *
           (products +
            sizes.planes() * paddedPlane(tiles * paddedPlane(sizes.channels)));
  int64_t weights = sizes.planes() * paddedPlane(run * block),
          plain = run * paddedPlane(9 * block);
  return 4 * (products + weights + plain);
}

//===-- time --------------------------------------------------------------===//

double trafficSeconds(const WinogradSizes &sizes, const WinogradRates &rates) {
  double source =
             double(sizes.images) * sizes.height * sizes.width * sizes.channels,
         result =
             double(sizes.images) * sizes.rows * sizes.columns * sizes.outputs;
  return 4 * (source + result) / rates.bytes;
}

double winogradSeconds(const WinogradSizes &sizes, const WinogradRates &rates) {
  int64_t items = WinogradTiles(sizes).items(sizes),
          turns = llvm::divideCeil(items, rates.threads);
  double busy = double(items) / (turns * rates.threads),
         share =
             sizes.isNarrow() ? winogradShareOfFew(sizes.tile) : kWinogradShare;
  return std::max(sizes.productFlops() / (share * busy * rates.flops),
                  trafficSeconds(sizes, rates));
}

double directSeconds(const WinogradSizes &sizes, const WinogradRates &rates) {
  bool skips = sizes.columns > kColumnsWithPadding;
  return (skips ? sizes.insideFlops() : sizes.directFlops()) /
         ((sizes.isNarrow() ? kConvolutionShareOfFew : kConvolutionShare) *
          rates.flops);
}

StringRef reasonAgainstSizes(const WinogradSizes &sizes) {
  constexpr int64_t leastFlops = 70'000'000;
  for (int64_t pad : {sizes.padTop, sizes.padLeft,
                      sizes.rows + 2 - sizes.height - sizes.padTop,
                      sizes.columns + 2 - sizes.width - sizes.padLeft})
    if (pad < 0 || pad > 2)
      return "its padding is not 0 to 2";
  if (sizes.channels % kWinogradLanes || sizes.outputs % kWinogradLanes)
    return "its channels are no multiple of 16";
  if (sizes.directFlops() < leastFlops)
    return "it is small";
  return WinogradTiles(sizes).scratchBytes(sizes) > kWinogradScratch
             ? "its tiles are more than fit the caches"
             : "";
}

WinogradChoice chosenByTimes(double ours, double direct, int64_t items,
                             double saving) {
  // An artifact has the same kernels for all machines with its instructions:
  // with five items eight threads are still sooner done than the library.
  constexpr double usualThreads = 4;
  double most = (1 - saving) * direct,
         busy = std::min(1.0, items / usualThreads);
  return {ours, direct,
          ours >= most          ? "too much of its tiles is empty"
          : ours / busy >= most ? "it has too few items for many threads"
                                : ""};
}

WinogradChoice chooseWinograd(const WinogradSizes &sizes,
                              const WinogradRival &rival) {
  if (StringRef reason = reasonAgainstSizes(sizes); !reason.empty())
    return {.reason = reason};
  return chosenByTimes(winogradSeconds(sizes, kUsualRates),
                       directSeconds(sizes, kUsualRates) / rival.rate,
                       WinogradTiles(sizes).items(sizes),
                       rival.savingOf(sizes.tile));
}

} // namespace gradus
