// Cuts long sums over samples into parts that threads share: gradients of
// weights above all. Stands between fusion and kernel forming.
//
// The parts depend on shapes alone, so results are the same for any number of
// threads. A thread then reads the samples that it computed, where a cut by
// weights would make each read all of them from the others' caches.

#include "codegen/nest.h"
#include "codegen/nest_cost.h"
#include "codegen/passes.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_SPLITREDUCTIONS
#include "codegen/passes.h.inc"

namespace {
using namespace mlir;
using plan::NestOp;

/// How much less than the inputs the partial results must be.
constexpr int64_t kSmaller = 4;
constexpr int64_t kLeastRows = 4;

/// Parts of a dimension, all equal; 1 if it has no such parts.
int64_t equalParts(int64_t extent, int64_t mostParts) {
  for (int64_t parts = std::min(mostParts, extent / kLeastRows); parts > 1;
       --parts)
    if (extent % parts == 0)
      return parts;
  return 1;
}

/// Whether `dim` is whole rows of every input that it moves through, and moves
/// through one at least.
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

/// How many parts the first reduced dimension should be cut into; 1: none.
int64_t partsFor(NestOp nest, const SplitReductionsOptions &options) {
  if (nest.getReduced().empty() || costOf(nest).work < options.leastWork ||
      !isRow(nest, nest.getParallel().size()))
    return 1;
  int64_t parts = equalParts(nest.getReduced()[0], options.mostParts);
  int64_t partial = 0;
  for (Value sum : nest.getMap().front().getTerminator()->getOperands())
    partial += parts * bytesOf(RankedTensorType::get(nest.getParallel(),
                                                     sum.getType()));
  return partial * kSmaller <= inputBytes(nest) ? parts : 1;
}

class Cut {
public:
  Cut(NestOp nest, int64_t parts)
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

  /// Dimension 0 is the part; those of the nest follow.
  SmallVector<AffineExpr> positions(int64_t rows) {
    SmallVector<AffineExpr> position;
    for (unsigned d = 0; d < nest_.getNumDims(); ++d)
      position.push_back(d == outer_ ? dim(0) * rows + dim(d + 1) : dim(d + 1));
    return position;
  }

  NestRead moved(unsigned input, ArrayRef<AffineExpr> position) {
    unsigned dims = position.size() + 1;
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
    int64_t rows = nest_.getReduced()[0] / parts_;
    auto position = positions(rows);
    NestParts parts;
    parts.parallel = {parts_};
    llvm::append_range(parts.parallel, nest_.getParallel());
    parts.reduced.assign(nest_.getReduced().begin(), nest_.getReduced().end());
    parts.reduced[0] = rows;
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

  /// Combines the parts and does what the nest did behind its reduction.
  NestOp buildTotal(NestOp partial) {
    NestParts parts = partsOf(nest_);
    parts.reduced = {parts_};
    parts.mapReads.clear();
    SmallVector<AffineExpr> element = {dim(outer_)};
    for (unsigned d = 0; d < outer_; ++d)
      element.push_back(dim(d));
    AffineMap map =
        AffineMap::get(outer_ + 1, 0, element, builder_.getContext());
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
  int64_t parts_;
  OpBuilder builder_;
  unsigned outer_; // the dimension that is cut
};

struct SplitReductions : impl::SplitReductionsBase<SplitReductions> {
  using Base::Base;

  void runOnOperation() override {
    SmallVector<NestOp> nests;
    getOperation()->walk([&](NestOp nest) { nests.push_back(nest); });
    for (NestOp nest : nests) {
      int64_t parts =
          partsFor(nest, {.mostParts = mostParts, .leastWork = leastWork});
      if (parts == 1)
        continue;
      remark::passed(nest.getLoc(),
                     remark::RemarkOpts::name("Split").category(getArgument()))
          << "reduction cut into " << std::to_string(parts) << " parts";
      Cut(nest, parts).run();
    }
  }
};

} // namespace
} // namespace gradus
