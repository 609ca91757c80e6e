// Makes the ranks of a run train as one process would on the samples of all.
//
// Runs when the gradients of one rank are final, and before the methods that
// want those of all: what is clipped, decayed or centred is the mean over
// ranks. What counts in the mean of a loss is settled before autodiff
// (passes/model/losses.cpp).

#include "passes/distribution.h"

#include "ir/arithmetic.h"
#include "ir/attention_sizes.h"
#include "passes/passes.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_DATAPARALLEL
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

struct DataParallelPass : impl::DataParallelBase<DataParallelPass> {
  using Base::Base;

  void runOnOperation() override {
    settings = distributionOf(getOperation());
    if (settings.mode == DistributionMode::none)
      return;
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      if (graph.getSymName().starts_with(kTrain) && failed(share(graph)))
        return signalPassFailure();
  }

  LogicalResult share(GraphOp graph) {
    Block &block = graph.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&block);
    ranks = readRanks(builder, graph.getLoc(), getOperation());
    if (!ranks)
      return failure();
    drawByRank(block);
    shareConditions(block);
    size_t gradients = 0;
    for (auto update : block.getOps<ParameterUpdate>()) {
      builder.setInsertionPoint(update);
      OpOperand &gradient = update.getGradientUse();
      gradient.set(settings.mean ? meanOverRanks(builder, gradient.get())
                                 : sumOverRanks(builder, update.getLoc(),
                                                gradient.get()));
      ++gradients;
    }
    shareStatistics(block);
    shareOutputs(graph);
    remark::passed(
        graph.getLoc(),
        remark::RemarkOpts::name("DataParallel").category(getArgument()))
        << "@" << graph.getSymName() << " shares " << std::to_string(gradients)
        << " gradients with the other ranks";
    return success();
  }

  Value meanOverRanks(OpBuilder &builder, Value value) {
    Location loc = value.getLoc();
    Arithmetic math(builder, loc);
    Value total = sumOverRanks(builder, loc, value);
    Value count =
        convert(builder, loc, ranks, tensorType(value).getElementType());
    return math.divide(total, broadcastScalar(builder, loc, count,
                                              tensorType(value).getShape()));
  }

  /// Random numbers of a rank's samples are those that one process would draw
  /// for them, as one of all: samples lie along the first axis.
  void drawByRank(Block &block) {
    for (Operation &op : block) {
      if (auto bits = dyn_cast<RandomBitsOp>(op))
        drawByRank(bits, bits.getType().getShape());
      else if (auto attention = dyn_cast<AttentionOp>(op))
        drawByRank(attention, sizesOf(attention).scores());
      else if (auto attention = dyn_cast<AttentionBackwardOp>(op))
        drawByRank(attention, sizesOf(attention).scores());
    }
  }

  template <typename Op> static AttentionSizes sizesOf(Op op) {
    return AttentionSizes(op.getQuery(), op.getValue());
  }

  /// Counts the places of what an op draws on from those of the ranks before.
  template <typename Op> void drawByRank(Op op, ArrayRef<int64_t> shape) {
    if (!op.getStep() || op.getFirst() || shape.empty())
      return;
    OpBuilder builder(op);
    Value rank = readRank(builder, op.getLoc(), getOperation());
    Value before =
        Arithmetic(builder, op.getLoc()).scale(llvm::product_of(shape), rank);
    op.getFirstMutable().assign(before);
  }

  /// A step changes states on all ranks or on none, or counters would differ
  /// and one rank would wait for another in a step of another kind.
  static void shareConditions(Block &block) {
    llvm::DenseSet<Value> shared;
    for (auto guard : block.getOps<GuardOp>()) {
      Value own = guard.getCondition();
      if (!shared.insert(own).second)
        continue;
      OpBuilder builder(own.getContext());
      builder.setInsertionPointAfterValue(own);
      Location loc = own.getLoc();
      auto type = RankedTensorType::get({}, builder.getF32Type());
      Value zero = splat(builder, loc, type, 0),
            one = splat(builder, loc, type, 1);
      auto vetoes = arith::SelectOp::create(builder, loc, own, zero, one);
      Value total = sumOverRanks(builder, loc, vetoes);
      Value all = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                        total, zero);
      own.replaceAllUsesExcept(all, vetoes);
      shared.insert(all);
    }
  }

  /// Running statistics are equal on all ranks, whatever they are of.
  void shareStatistics(Block &block) {
    if (settings.batchNorm == BatchNormRanks::synchronized)
      return;
    for (auto write : block.getOps<WriteOp>()) {
      StateOp state = getOperation().getState(write.getState());
      if (!state || state.getRole() != Role::buffer ||
          !isa<FloatType>(state.getType().getElementType()))
        continue;
      OpBuilder builder(write);
      Value value = write.getValue();
      write.getValueMutable().assign(settings.batchNorm ==
                                             BatchNormRanks::average
                                         ? meanOverRanks(builder, value)
                                         : ofFirstRank(builder, value));
    }
  }

  Value ofFirstRank(OpBuilder &builder, Value value) {
    Location loc = value.getLoc();
    Value rank = readRank(builder, loc, getOperation());
    Value isFirst =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, rank,
                              splatLike(builder, rank, 0));
    Value mask =
        broadcastScalar(builder, loc, isFirst, tensorType(value).getShape());
    Value own = Arithmetic(builder, loc)
                    .select(mask, value, splatLike(builder, value, 0));
    return sumOverRanks(builder, loc, own);
  }

  /// Loss and metrics are those of all samples.
  void shareOutputs(GraphOp graph) {
    Operation *end = graph.getBody().front().getTerminator();
    OpBuilder builder(end);
    for (OpOperand &output : end->getOpOperands()) {
      RankedTensorType type = tensorType(output.get());
      if (type.getRank() == 0 && isa<FloatType>(type.getElementType()))
        output.set(meanOverRanks(builder, output.get()));
    }
  }

  DistributionSettings settings;
  Value ranks; // of the graph at hand
};

} // namespace
} // namespace gradus
