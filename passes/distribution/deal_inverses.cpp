// Lets each rank invert a part of the blocks of curvature.
//
// An inverse costs the third power of a block's side, and the factors of all
// layers are equal on all ranks: without this each rank computes the same. All
// ranks run one program, so what is dealt is data and not work: which blocks a
// rank takes follows from its number. Blocks of one size cost the same, so that
// ranks are busy for as long.

#include "passes/distribution.h"

#include "passes/distribution/own_values.h"
#include "passes/passes.h"
#include "passes/refreshes.h"
#include "passes/train_graphs.h"

#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

namespace gradus {
#define GEN_PASS_DEF_DEALINVERSES
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// Inverses of blocks of one size and element type.
using Inverses = SmallVector<InverseOp>;

int64_t blocksOf(InverseOp inverse) { return inverse.getType().getDimSize(0); }

struct DealInversesPass : impl::DealInversesBase<DealInversesPass> {
  using Base::Base;

  void runOnOperation() override {
    DistributionSettings settings = distributionOf(getOperation());
    ranks = settings.ranks.value_or(1);
    if (settings.mode == DistributionMode::none || ranks == 1)
      return;
    for (GraphOp train : trainGraphs(getOperation()))
      if (train->hasAttr(kDealt) && failed(deal(train)))
        return signalPassFailure();
  }

private:
  LogicalResult deal(GraphOp train) {
    Block &block = train.getBody().front();
    for (auto &[type, inverses] : sharedInverses(train)) {
      int64_t count = 0;
      for (InverseOp inverse : inverses)
        count += blocksOf(inverse);
      if (count == 1) {
        reportLeft(train, type.getDimSize(1));
        continue;
      }
      if (failed(dealBlocks(inverses, count)))
        return failure();
      report(train, count, type.getDimSize(1));
    }
    // Inverses may stand in front of factors of other layers.
    if (sortTopologically(&block))
      return success();
    return train.emitError("@")
           << train.getSymName()
           << " has inverses that depend on others of the same size, which "
              "refresh.dealt excludes";
  }

  /// The inverses of what all ranks have, by the type of a block.
  llvm::MapVector<RankedTensorType, Inverses> sharedInverses(GraphOp train) {
    llvm::DenseSet<Value> own = ownValues(getOperation(), train);
    llvm::MapVector<RankedTensorType, Inverses> found;
    for (auto inverse : train.getBody().front().getOps<InverseOp>()) {
      auto type = cast<RankedTensorType>(inverse.getType());
      if (type.getRank() == 3 && !own.contains(inverse.getInput()))
        found[type.clone({1, type.getDimSize(1), type.getDimSize(2)})]
            .push_back(inverse);
    }
    return found;
  }

  /// Replaces inverses, of `count` blocks, by parts of what ranks have made
  /// together.
  LogicalResult dealBlocks(ArrayRef<InverseOp> inverses, int64_t count) {
    OpBuilder builder(inverses.back());
    Arithmetic math(builder, inverses.front()->getLoc());
    Value rank = readRank(builder, math.loc, getOperation());
    if (!rank)
      return failure();
    Value all = inversesOfAll(math, joined(math, inverses, count), rank);
    int64_t first = 0;
    for (InverseOp inverse : inverses) {
      RankedTensorType type = tensorType(inverse);
      Value part = sliced(math, all, first, type);
      first += blocksOf(inverse);
      inverse.replaceAllUsesWith(part);
      inverse.erase();
    }
    return success();
  }

  /// The blocks of all, one behind the other.
  static Value joined(const Arithmetic &math, ArrayRef<InverseOp> inverses,
                      int64_t count) {
    SmallVector<Value> blocks;
    for (InverseOp inverse : inverses)
      blocks.push_back(inverse.getInput());
    if (blocks.size() == 1)
      return blocks.front();
    RankedTensorType type = tensorType(blocks.front());
    return ConcatenateOp::create(
        math.builder, math.loc,
        type.clone({count, type.getDimSize(1), type.getDimSize(2)}), blocks,
        /*axis=*/0);
  }

  /// The inverses of all blocks, of which each rank computes its part.
  Value inversesOfAll(const Arithmetic &math, Value blocks, Value rank) const {
    RankedTensorType type = tensorType(blocks);
    int64_t count = type.getDimSize(0), side = type.getDimSize(1),
            part = llvm::divideCeil(count, ranks);
    Value own = InverseOp::create(math.builder, math.loc,
                                  partOf(math, blocks, rank, part));
    int64_t numbers = part * side * side;
    Value rows = gatherOverRanks(
        math, reshape(math.builder, math.loc, own, {numbers}), ranks, rank);
    if (tensorType(rows).getDimSize(1) > numbers)
      rows =
          math.make<SliceOp>(type.clone({ranks, numbers}), rows,
                             ArrayRef<int64_t>{0, 0}, ArrayRef<int64_t>{1, 1});
    return sliced(
        math, reshape(math.builder, math.loc, rows, {ranks * part, side, side}),
        0, type);
  }

  /// The blocks that a rank inverts: `part` from its first one on. Beyond the
  /// last block of all, which comes again, nobody uses results.
  Value partOf(const Arithmetic &math, Value blocks, Value rank,
               int64_t part) const {
    RankedTensorType type = tensorType(blocks);
    int64_t count = type.getDimSize(0);
    auto indices = RankedTensorType::get({part}, math.builder.getI64Type());
    Value first = math.multiply(
        broadcastScalar(math.builder, math.loc, rank, indices.getShape()),
        splat(math.builder, math.loc, indices, part));
    Value index =
        math.add(first, iota(math.builder, math.loc, indices, /*axis=*/0));
    if (ranks * part != count)
      index = math.make<arith::MinSIOp>(
          index, splat(math.builder, math.loc, indices, count - 1));
    return GatherOp::create(
        math.builder, math.loc,
        type.clone({part, type.getDimSize(1), type.getDimSize(2)}), blocks,
        index, /*axis=*/0);
  }

  static Value sliced(const Arithmetic &math, Value blocks, int64_t first,
                      RankedTensorType type) {
    return math.make<SliceOp>(type, blocks, ArrayRef<int64_t>{first, 0, 0},
                              ArrayRef<int64_t>{1, 1, 1});
  }

  void report(GraphOp train, int64_t count, int64_t side) const {
    remark::passed(train.getLoc(),
                   remark::RemarkOpts::name("Dealt").category(getArgument()))
        << ("@" + train.getSymName() + ": of " + Twine(count) +
            " blocks with a side of " + Twine(side) + " each rank inverts " +
            Twine(llvm::divideCeil(count, ranks)))
               .str();
  }

  void reportLeft(GraphOp train, int64_t side) const {
    remark::missed(train.getLoc(),
                   remark::RemarkOpts::name("Dealt").category(getArgument()))
        << ("@" + train.getSymName() + ": of blocks with a side of " +
            Twine(side) + " there is one, which each rank inverts")
               .str();
  }

  int64_t ranks = 1;
};

} // namespace
} // namespace gradus
