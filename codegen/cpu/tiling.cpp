// Searches tilings with an estimate of cycles: two vector operations and two
// loads per cycle, a latency of four cycles for a sum, and no more live values
// than registers.
//
// Contractions need no special case: their tiles are cheap because they reuse
// loaded values.

#include "codegen/cpu/tiling.h"

#include "codegen/cpu/lanes.h"

#include "llvm/ADT/Sequence.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace gradus;
using llvm::SmallVector;

//===-- facts about a nest ------------------------------------------------===//

static unsigned bytesOf(mlir::Type type) {
  return type.isIndex() ? 8 : std::max(1u, type.getIntOrFloatBitWidth() / 8);
}

/// The width of the elements that registers mostly hold; 4 if only narrower
/// ones are moved.
static unsigned elementBytes(const Nest &nest) {
  unsigned bytes = 4;
  for (mlir::Region *region : {&nest.map(), &nest.then()})
    region->walk([&](mlir::Operation *op) {
      for (mlir::Type type : op->getResultTypes())
        if (llvm::isa<mlir::FloatType>(type))
          bytes = std::max(bytes, bytesOf(type));
    });
  return bytes;
}

static int64_t opsIn(mlir::Region &region) {
  int64_t ops = 0;
  for (mlir::Block &block : region)
    for (mlir::Operation &op : block.without_terminator())
      if (op.getNumOperands() > 0)
        ops += op.getName().getDialectNamespace() == "math" ? 12 : 1;
  return ops;
}

static int64_t extentOf(const Nest &nest, unsigned dim) {
  int64_t extent = nest.extents[dim];
  return mlir::ShapedType::isDynamic(extent) ? 1 << 16 : extent;
}

//===-- the estimate ------------------------------------------------------===//

namespace {

class Estimate {
public:
  Estimate(const Nest &nest, const CpuTarget &target)
      : nest_(nest), target_(target), bytes_(elementBytes(nest)),
        mapOps_(opsIn(nest.map())), thenOps_(opsIn(nest.then())) {}

  double cycles(const Tiling &tiling) const;
  /// An estimate of the instructions in the code of a tiling.
  double code(const Tiling &tiling) const;
  /// Whether all inputs of the map region are reused within a tile.
  bool isProduct() const;
  /// Whether the accumulators and loaded values fit into registers.
  bool fits(const Tiling &tiling) const;
  unsigned bytesOfElement() const { return bytes_; }

private:
  double registersPerVector(const Tiling &tiling) const {
    return std::max(1.0,
                    double(tiling.lanes) * bytes_ * 8 / target_.vectorBits);
  }
  bool isVectorReduced(const Tiling &t) const {
    return t.vectorDim >= 0 && nest_.isReduced(t.vectorDim);
  }
  int64_t vectorsAlong(const Tiling &t, unsigned dim) const {
    return int(dim) == t.vectorDim ? t.sizes[dim] / t.lanes : t.sizes[dim];
  }
  int64_t copies(const Tiling &t, const Access &access) const;
  bool readsPartsOfLines(const Tiling &t, const Access &access) const;
  double costOf(const Tiling &t, const Access &access, bool store) const;
  int64_t accumulators(const Tiling &t) const;
  double roundCycles(const Tiling &t) const;
  double finishCycles(const Tiling &t) const;

  const Nest &nest_;
  const CpuTarget &target_;
  unsigned bytes_;
  int64_t mapOps_, thenOps_;
};

} // namespace

/// The number of different elements or vectors of an input in one iteration.
int64_t Estimate::copies(const Tiling &t, const Access &access) const {
  int64_t count = 1;
  for (unsigned dim = 0; dim < nest_.dims(); ++dim)
    if ((!nest_.isReduced(dim) || int(dim) == t.vectorDim) &&
        access.dependsOn(dim))
      count *= vectorsAlong(t, dim);
  return count;
}

/// Whether all vectors of an access start at multiples of their size.
static bool isAligned(const Nest &nest, const Access &access, const Tiling &t) {
  if (!access.place.terms.empty() || access.place.offset % t.lanes != 0)
    return false;
  for (unsigned dim = 0; dim < nest.dims(); ++dim)
    if (int(dim) != t.vectorDim && access.place.strides[dim] % t.lanes != 0)
      return false;
  return true;
}

/// Whether the tiles of a sum read the parts of a cache line one after another,
/// each after all lines: the line is no longer near, then.
bool Estimate::readsPartsOfLines(const Tiling &t, const Access &access) const {
  constexpr int64_t lineBytes = 64, nearBytes = 16 * 1024;
  int64_t size = t.sizes[t.vectorDim], lines = 1;
  for (unsigned dim = nest_.parallel; dim < nest_.dims(); ++dim)
    lines *= access.dependsOn(dim) ? extentOf(nest_, dim) : 1;
  return nest_.hasReduction() && !isVectorReduced(t) && !isProduct() &&
         size < extentOf(nest_, t.vectorDim) &&
         size * bytesOf(access.element) < lineBytes &&
         lines * lineBytes > nearBytes;
}

/// The cost of one read or write in load slots. An unaligned vector of 64 bytes
/// is in two cache lines.
double Estimate::costOf(const Tiling &t, const Access &access,
                        bool store) const {
  if (t.vectorDim < 0 || !access.dependsOn(t.vectorDim))
    return 1 + 0.5 * access.guard.size();
  double guard =
      access.isGuardedBy(t.vectorDim) ? 1.5 : 0.2 * access.guard.size();
  double plain = registersPerVector(t);
  LaneStep step = laneStep(nest_, access, t.vectorDim, t.lanes);
  if (step.kind == LaneStep::next && readsPartsOfLines(t, access))
    return guard + 2 * plain;
  if (step.kind == LaneStep::next)
    return guard + plain * (isAligned(nest_, access, t)
                                ? 1
                                : 1 + target_.vectorBits / 640.0);
  if (step.kind == LaneStep::strided && access.guard.empty() && !store)
    return plain * 2 * step.by;
  if (step.kind == LaneStep::repeated && access.guard.empty() && !store)
    return plain * 2;
  // A load, and an exchange of lanes for each doubling.
  if (int dim = transposedDim(nest_, access, t.vectorDim, t.lanes);
      dim >= 0 && t.sizes[dim] == t.lanes && !store)
    return 1 + llvm::Log2_64(t.lanes);
  return guard + t.lanes * (store ? 2.0 : 3.0);
}

/// The number of vectors that a tile accumulates.
int64_t Estimate::accumulators(const Tiling &t) const {
  int64_t count = 1;
  for (unsigned dim = 0; dim < nest_.parallel; ++dim)
    count *= vectorsAlong(t, dim);
  if (isVectorReduced(t))
    count *= vectorsAlong(t, t.vectorDim);
  return count * std::max<int64_t>(1, nest_.combine.size());
}

bool Estimate::fits(const Tiling &t) const {
  int64_t vectors = accumulators(t), largest = 1;
  // A tile of one point is the fallback if nothing else fits.
  if (!nest_.hasReduction() ||
      vectors <= std::max<int64_t>(1, nest_.combine.size()))
    return true;
  constexpr int64_t mostOps = 600; // More takes long to compile.
  if (vectors > 1 && vectors * (mapOps_ + thenOps_) > mostOps)
    return false;
  // The smaller operand stays in registers while the other is streamed.
  for (unsigned i = 0; i < nest_.mapInputs; ++i)
    if (t.vectorDim < 0 || nest_.inputs[i].dependsOn(t.vectorDim))
      largest = std::max(largest, copies(t, nest_.inputs[i]));
  int64_t spare = std::min<int64_t>(largest, 4) + 1;
  return (vectors + spare) * registersPerVector(t) <= target_.registers;
}

/// The cycles of one reduced point (or vector of them) of a whole tile.
double Estimate::roundCycles(const Tiling &t) const {
  double loads = 0;
  for (unsigned i = 0; i < nest_.mapInputs; ++i)
    loads += copies(t, nest_.inputs[i]) * costOf(t, nest_.inputs[i], false);
  double ops = double(accumulators(t)) * std::max<int64_t>(1, mapOps_) *
               registersPerVector(t);
  // Operations that are not the bottleneck still use slots, and memory is
  // slower than assumed here.
  return std::max({loads / 2, ops / 2, 4.0}) + 0.05 * loads + 0.5;
}

/// The cycles of a tile after its reduction.
double Estimate::finishCycles(const Tiling &t) const {
  double vectors = accumulators(t), slots = 0;
  Tiling after = t;
  if (isVectorReduced(t)) {
    slots += vectors * (t.finishDim >= 0 ? 3.0 : 8.0) * registersPerVector(t);
    after.vectorDim = t.finishDim;
    after.lanes =
        t.finishDim >= 0 ? std::min<int64_t>(t.lanes, t.sizes[t.finishDim]) : 1;
    vectors = vectors / vectorsAlong(t, t.vectorDim) / after.lanes;
  }
  double own = vectors / std::max<int64_t>(1, nest_.combine.size());
  slots += own * thenOps_ * registersPerVector(after);
  for (unsigned i = nest_.mapInputs; i < nest_.inputs.size(); ++i)
    if (!nest_.isAsked(i))
      slots += std::min<double>(own, copies(t, nest_.inputs[i])) *
               costOf(after, nest_.inputs[i], false);
  for (const Access &output : nest_.outputs)
    slots += own * costOf(after, output, true) * 1.5;
  return slots / 2 + (nest_.hasReduction() ? 6 : 1);
}

double Estimate::cycles(const Tiling &t) const {
  // Measured: with few registers tiles are small, and so are their rests.
  const double ragged = target_.registers > 16 ? 1.03 : 1.08;
  double tiles = 1, rounds = 1;
  for (unsigned dim = 0; dim < nest_.dims(); ++dim) {
    int64_t extent = extentOf(nest_, dim),
            size = std::min(t.sizes[dim], extent), rest = extent % size;
    if (int(dim) == t.vectorDim)
      size = t.sizes[dim], rest = llvm::alignTo(extent % size, t.lanes);
    // A ragged tile costs less than a whole one but is never cheap, and its
    // code must be compiled, too.
    double count =
        double(extent / size) + (rest ? std::max(double(rest) / size, 0.4) : 0);
    if (!nest_.isReduced(dim))
      tiles *= rest && int(dim) != t.vectorDim ? count * ragged : count;
    else
      rounds *= int(dim) == t.vectorDim ? count : double(extent);
  }
  return tiles * ((nest_.hasReduction() ? rounds * roundCycles(t) : 0) +
                  finishCycles(t));
}

/// The instructions in the code: each dimension has a tile for whole ones and
/// possibly one for a rest.
double Estimate::code(const Tiling &t) const {
  double points = 1;
  for (unsigned dim = 0; dim < nest_.dims(); ++dim) {
    int64_t extent = extentOf(nest_, dim),
            size = std::min(t.sizes[dim], extent);
    int64_t unit = int(dim) == t.vectorDim ? t.lanes : 1;
    points *= double(llvm::divideCeil(size, unit) +
                     llvm::divideCeil(extent % size, unit));
  }
  double each = double(mapOps_ + thenOps_) + double(nest_.inputs.size()) +
                double(nest_.outputs.size());
  return points * each * registersPerVector(t);
}

bool Estimate::isProduct() const {
  auto isShared = [&](const Access &access) {
    return llvm::any_of(llvm::seq(nest_.parallel), [&](unsigned dim) {
      return extentOf(nest_, dim) > 1 && !access.dependsOn(dim);
    });
  };
  return nest_.hasReduction() &&
         llvm::all_of(llvm::ArrayRef(nest_.inputs).take_front(nest_.mapInputs),
                      isShared);
}

double gradus::estimateCycles(const Nest &nest, const CpuTarget &target,
                              const Tiling &tiling) {
  return Estimate(nest, target).cycles(tiling);
}

//===-- the search --------------------------------------------------------===//

namespace {

class Search {
public:
  Search(const Nest &nest, const CpuTarget &target)
      : nest_(nest), target_(target), estimate_(nest, target) {}
  Tiling run();

private:
  void tryVectorDim(int dim);
  void tryTransposing(unsigned dim);
  void tryTiles(Tiling tiling, unsigned firstDim, int dimsLeft);
  void consider(Tiling tiling);
  bool widensInputs() const;
  unsigned lanesAlong(unsigned dim) const;
  bool canFinishAlong(unsigned dim) const;
  int64_t workOf(const Tiling &tiling) const;
  void unroll(Tiling &tiling) const;

  const Nest &nest_;
  const CpuTarget &target_;
  Estimate estimate_;
  Tiling best_;
  double bestCycles_ = std::numeric_limits<double>::infinity(); // and code
};

} // namespace

/// Whether a sum is in f64, of f32 numbers.
bool Search::widensInputs() const {
  auto isNarrow = [](const Access &access) { return access.element.isF32(); };
  return nest_.hasReduction() && estimate_.bytesOfElement() == 8 &&
         !estimate_.isProduct() &&
         llvm::any_of(llvm::ArrayRef(nest_.inputs).take_front(nest_.mapInputs),
                      isNarrow);
}

/// The lanes of a vector: two registers for elementwise nests, which hides
/// latency, one for sums; no more than the dimension needs. Where numbers are
/// widened for a sum, a register has them before.
unsigned Search::lanesAlong(unsigned dim) const {
  int64_t full = target_.vectorBits / (8 * estimate_.bytesOfElement());
  int64_t extent = extentOf(nest_, dim);
  if (widensInputs())
    full *= 2;
  if (!nest_.hasReduction() && extent % (2 * full) == 0)
    full *= 2;
  else if (!nest_.hasReduction() && extent > 6 * full)
    full *= 2;
  return std::min<int64_t>(full, llvm::PowerOf2Ceil(extent));
}

/// Whether the sums of a tile along `dim` can be read, finished and written as
/// vectors.
bool Search::canFinishAlong(unsigned dim) const {
  auto plain = [&](const Access &a) {
    return !a.isGuardedBy(dim) && (a.hasStride(dim, 1) || !a.dependsOn(dim));
  };
  for (unsigned i = nest_.mapInputs; i < nest_.inputs.size(); ++i)
    if (!plain(nest_.inputs[i]))
      return false;
  return llvm::all_of(nest_.outputs,
                      [&](const Access &a) { return a.hasStride(dim, 1); });
}

/// log2, linear between powers of 2, so that no rounding in a math library can
/// change a decision.
static double roughLog2(double x) {
  int exponent = 0;
  double fraction = std::frexp(x, &exponent); // 0.5 .. 1
  return exponent + 2 * fraction - 2;
}

void Search::consider(Tiling tiling) {
  if (!estimate_.fits(tiling))
    return;
  if (tiling.vectorDim >= 0 && nest_.isReduced(tiling.vectorDim))
    for (unsigned dim = 0; dim < nest_.parallel; ++dim)
      if (tiling.sizes[dim] > 1 && canFinishAlong(dim))
        tiling.finishDim = dim;
  // If a nest is bound by memory, half the code, which compiles in half the
  // time, is worth 5 % more estimated cycles: measured steps took no longer.
  // Contractions depend on their tiles, so they are exempt.
  const double weight = estimate_.isProduct() ? 0 : 0.07;
  constexpr double least = 10;
  double code = roughLog2(least + estimate_.code(tiling));
  double cycles = estimate_.cycles(tiling) * (1 + weight * code);
  if (cycles < bestCycles_) {
    best_ = tiling;
    bestCycles_ = cycles;
  }
}

/// Contractions get blocks of a multiple of this many items (see `grain` in
/// form_kernels_outline.cpp), so the size of a tile of items should divide it.
static int64_t itemBlock(const Nest &nest) {
  return std::clamp<int64_t>(llvm::divideCeil(extentOf(nest, nest.itemDim), 4),
                             1, 8);
}

/// Tries all sizes of up to `dimsLeft` parallel dimensions from `firstDim` on.
void Search::tryTiles(Tiling tiling, unsigned firstDim, int dimsLeft) {
  consider(tiling);
  if (dimsLeft == 0 || !nest_.hasReduction())
    return;
  for (unsigned dim = firstDim; dim < nest_.parallel; ++dim) {
    if (int(dim) == tiling.vectorDim)
      continue;
    for (int64_t size : {2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24}) {
      Tiling next = tiling;
      next.sizes[dim] = size;
      if (size > extentOf(nest_, dim) || !estimate_.fits(next))
        break;
      if (int(dim) == nest_.itemDim && itemBlock(nest_) % size != 0)
        continue;
      tryTiles(next, dim + 1, dimsLeft - 1);
    }
  }
}

void Search::tryVectorDim(int dim) {
  Tiling tiling;
  tiling.sizes.assign(nest_.dims(), 1);
  tiling.vectorDim = dim;
  if (dim < 0)
    return tryTiles(tiling, 0, 2);
  tiling.lanes = lanesAlong(dim);
  int64_t vectors = llvm::divideCeil(extentOf(nest_, dim), tiling.lanes);
  for (int64_t count = 1;
       count <= std::min<int64_t>(vectors, nest_.hasReduction() ? 4 : 1);
       ++count) {
    tiling.sizes[dim] = count * tiling.lanes;
    tryTiles(tiling, 0, 2);
  }
  tryTransposing(dim);
}

/// Tries tiles of as many positions as lanes along a dimension in which an
/// input has neighbours that are far apart along the lanes. Long code is shared
/// by single positions.
void Search::tryTransposing(unsigned dim) {
  constexpr int64_t mostOps = 4;
  unsigned lanes = target_.vectorBits / (8 * estimate_.bytesOfElement());
  if (nest_.hasReduction() || opsIn(nest_.then()) > mostOps ||
      extentOf(nest_, dim) < lanes)
    return;
  for (const Access &input : nest_.inputs)
    if (int other = transposedDim(nest_, input, dim, lanes); other >= 0) {
      Tiling tiling;
      tiling.sizes.assign(nest_.dims(), 1);
      tiling.vectorDim = int(dim);
      tiling.lanes = lanes;
      tiling.sizes[dim] = tiling.sizes[other] = lanes;
      consider(tiling);
    }
}

/// The operations for one reduced point of a whole tile.
int64_t Search::workOf(const Tiling &tiling) const {
  int64_t work = std::max<int64_t>(1, opsIn(nest_.map())) + 1;
  for (unsigned dim = 0; dim < nest_.parallel; ++dim)
    work *= int(dim) == tiling.vectorDim ? tiling.sizes[dim] / tiling.lanes
                                         : tiling.sizes[dim];
  return work;
}

/// Unrolls the innermost loop over reduced points: completely if it is short,
/// so that guards become constants, else a little, to reduce the loop's
/// overhead.
void Search::unroll(Tiling &tiling) const {
  int64_t work = workOf(tiling);
  int last = int(nest_.dims()) - 1;
  if (!nest_.hasReduction() || nest_.dims() == nest_.parallel ||
      last == tiling.vectorDim)
    return;
  int64_t extent = nest_.extents[last];
  if (extent <= 8 && extent * work <= 400) {
    tiling.sizes[last] = extent;
    return;
  }
  for (int64_t size : {2, 4, 8})
    if (extent % size == 0 && size * work <= 64)
      tiling.sizes[last] = size;
}

Tiling Search::run() {
  tryVectorDim(-1);
  for (unsigned dim = 0; dim < nest_.dims(); ++dim)
    if (extentOf(nest_, dim) > 1)
      tryVectorDim(dim);
  unroll(best_);
  return best_;
}

Tiling gradus::chooseTiling(const Nest &nest, const CpuTarget &target) {
  return Search(nest, target).run();
}
