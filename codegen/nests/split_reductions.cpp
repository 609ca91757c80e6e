// Splits long sums over samples, above all gradients of weights, into parts for
// threads. Runs between fusion and kernel forming.
//
// The parts depend only on shapes, so results are the same for any number of
// threads. A thread then reads samples that it computed itself, whereas a split
// by weights would make each thread read all samples from the others' caches.
// If a device needs more parts than there are samples, the next dimension is
// split as well. Sums by which their own elements are normalized stay whole if
// they have rows enough: see share_rows.h.

#include "codegen/nests/share_rows.h"
#include "codegen/plan/nest.h"
#include "codegen/plan/nest_cost.h"
#include "codegen/plan/passes.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "codegen/plan/passes.h.inc"

namespace {
using namespace mlir;
using plan::NestOp;

/// The minimum ratio of the bytes of inputs to those of partial results.
constexpr int64_t kSmaller = 4;
/// The minimum rows of a part, and the minimum points if rows are split.
constexpr int64_t kLeastRows = 4, kLeastPoints = 16;

using Parts = SmallVector<int64_t, 2>; // of each reduced dimension that is cut

/// The number of equal parts of a dimension, at most `mostParts`.
int64_t equalParts(int64_t extent, int64_t mostParts) {
  for (int64_t parts = std::min(mostParts, extent); parts > 1; --parts)
    if (extent % parts == 0)
      return parts;
  return 1;
}

/// Whether `dim` indexes whole rows of each input that depends on it, and at
/// least one does.
bool isRow(NestOp nest, unsigned dim) {
  bool moves = false;
  for (unsigned i = 0; i < nest.getMapInputs().size(); ++i) {
    AffineMap map = nest.getInputMap(i);
    if (!map.isFunctionOfDim(dim))
      continue;
    for (auto [position, result] : llvm::enumerate(map.getResults()))
      if (position == 0 ? result != getAffineDimExpr(dim, map.getContext())
                        : result.isFunctionOfDim(dim))
        return false;
    moves = true;
  }
  return moves;
}

int64_t inputBytes(NestOp nest) {
  int64_t bytes = 0;
  for (Value input : nest.getMapInputs())
    bytes += bytesOf(input.getType());
  return bytes;
}

/// Whether each input that depends on `dim` has a dimension for it alone.
bool isPlain(NestOp nest, unsigned dim) {
  for (unsigned i = 0; i < nest.getMapInputs().size(); ++i)
    for (AffineExpr result : nest.getInputMap(i).getResults())
      if (result.isFunctionOfDim(dim) && !isa<AffineDimExpr>(result))
        return false;
  return true;
}

/// The parts of the first reduced dimension and, on devices with a limit on
/// points, of the second.
Parts equalParts(NestOp nest, const SplitReductionsOptions &options) {
  ArrayRef<int64_t> reduced = nest.getReduced();
  int64_t wanted = options.mostParts;
  if (options.mostPoints > 0)
    wanted =
        std::min(wanted, options.mostPoints /
                             std::max<int64_t>(1, product(nest.getParallel())));
  Parts parts = {
      equalParts(reduced[0], std::min(wanted, reduced[0] / kLeastRows))};
  if (options.mostPoints > 0 && reduced.size() > 1 &&
      isPlain(nest, nest.getParallel().size() + 1)) {
    int64_t left = product(reduced) / kLeastPoints;
    int64_t more = equalParts(reduced[1], std::min(wanted, left) / parts[0]);
    if (more > 1)
      parts.push_back(more);
  }
  return parts;
}

/// The number of parts of the first reduced dimensions; empty if the nest
/// should not be split.
Parts partsFor(NestOp nest, const SplitReductionsOptions &options) {
  if (nest.getReduced().empty() || costOf(nest).work < options.leastWork ||
      !isRow(nest, nest.getParallel().size()))
    return {};
  Parts parts = equalParts(nest, options);
  int64_t count = product(parts), partial = 0;
  for (Value sum : nest.getMap().front().getTerminator()->getOperands())
    partial += count * bytesOf(RankedTensorType::get(nest.getParallel(),
                                                     sum.getType()));
  bool isWorthIt = count > 1 && partial * kSmaller <= inputBytes(nest);
  return isWorthIt ? parts : Parts();
}

class Cut {
public:
  Cut(NestOp nest, const Parts &parts)
      : nest_(nest), parts_(parts), builder_(nest),
        outer_(nest.getParallel().size()) {}

  void run() {
    NestOp partial = buildPartial();
    NestOp total = buildTotal(partial);
    for (auto [old, value] :
         llvm::zip(nest_->getResults(), total->getResults()))
      old.replaceAllUsesWith(value);
    nest_.erase();
  }

private:
  AffineExpr dim(unsigned position) {
    return builder_.getAffineDimExpr(position);
  }

  /// The positions in the nest by those in the partial one, whose first
  /// dimensions are the parts.
  SmallVector<AffineExpr> positions() {
    SmallVector<AffineExpr> position;
    for (unsigned d = 0; d < nest_.getNumDims(); ++d)
      position.push_back(dim(d + parts_.size()));
    for (auto [i, parts] : llvm::enumerate(parts_))
      position[outer_ + i] =
          dim(i) * (nest_.getReduced()[i] / parts) + position[outer_ + i];
    return position;
  }

  NestRead moved(unsigned input, ArrayRef<AffineExpr> position) {
    unsigned dims = position.size() + parts_.size();
    NestRead read{
        nest_->getOperand(input),
        simplifyAffineMap(nest_.getInputMap(input).replaceDimsAndSymbols(
            position, {}, dims, 0)),
        nest_.getGuard(input)};
    if (read.isGuarded())
      read.guard = read.guard.replaceDimsAndSymbols(position, {}, dims, 0);
    return read;
  }

  NestOp buildPartial() {
    auto position = positions();
    NestParts parts;
    parts.parallel.assign(parts_.begin(), parts_.end());
    llvm::append_range(parts.parallel, nest_.getParallel());
    parts.reduced.assign(nest_.getReduced().begin(), nest_.getReduced().end());
    for (auto [i, count] : llvm::enumerate(parts_))
      parts.reduced[i] /= count;
    for (unsigned i = 0; i < nest_.getMapInputs().size(); ++i)
      parts.mapReads.push_back(moved(i, position));
    AffineMap whole = builder_.getMultiDimIdentityMap(parts.parallel.size());
    for (Value sum : nest_.getMap().front().getTerminator()->getOperands()) {
      parts.outputMaps.push_back(whole);
      parts.resultTypes.push_back(
          RankedTensorType::get(parts.parallel, sum.getType()));
    }
    parts.combine = partsOf(nest_).combine;
    parts.label = labelOf(nest_);
    return buildNest(
        builder_, nest_.getLoc(), parts,
        [&](OpBuilder &builder, Location location, ValueRange elements) {
          return copyBody(builder, nest_.getMap(), elements, [&](unsigned d) {
            return emitAffine(builder, location, position[d]);
          });
        },
        [](OpBuilder &, Location, ValueRange sums) {
          return SmallVector<Value>(sums);
        });
  }

  /// Combines the parts and does the nest's work after its reduction.
  NestOp buildTotal(NestOp partial) {
    NestParts parts = partsOf(nest_);
    parts.reduced.assign(parts_.begin(), parts_.end());
    parts.mapReads.clear();
    SmallVector<AffineExpr> element;
    for (unsigned i = 0; i < parts_.size(); ++i)
      element.push_back(dim(outer_ + i));
    for (unsigned d = 0; d < outer_; ++d)
      element.push_back(dim(d));
    AffineMap map =
        AffineMap::get(element.size(), 0, element, builder_.getContext());
    for (Value result : partial->getResults())
      parts.mapReads.push_back({result, map, {}});
    parts.label = "reduce";
    return buildNest(
        builder_, nest_.getLoc(), parts,
        [](OpBuilder &, Location, ValueRange elements) {
          return SmallVector<Value>(elements);
        },
        [&](OpBuilder &builder, Location, ValueRange values) {
          return copyBody(builder, nest_.getThen(), values, [&](unsigned d) {
            return indexOf(builder, nest_.getLoc(), d);
          });
        });
  }

  NestOp nest_;
  Parts parts_;
  OpBuilder builder_;
  unsigned outer_; // the first dimension that is split
};

struct SplitReductions : impl::SplitReductionsBase<SplitReductions> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<NestOp> nests;
    // Nests of kernels are divided by those who write them.
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      graph.walk([&](NestOp nest) {
        if (!nest.isElementwise())
          nests.push_back(nest);
      });
    for (NestOp nest : nests) {
      if (shareRows(nest, mostRowBytes))
        continue;
      Parts parts = partsFor(nest, {.mostParts = mostParts,
                                    .leastWork = leastWork,
                                    .mostPoints = mostPoints});
      if (parts.empty())
        continue;
      remark::passed(nest.getLoc(),
                     remark::RemarkOpts::name("Split").category(getArgument()))
          << "reduction cut into " << std::to_string(product(parts))
          << " parts";
      Cut(nest, parts).run();
    }
  }
};

} // namespace
} // namespace gradus
