// Makes the ranks of a run train as one process would on the samples of all.
//
// Runs when the gradients of one rank are final, and before the methods that
// want those of all: what is clipped, decayed or centred is the mean over
// ranks. What counts in the mean of a loss is settled before autodiff
// (passes/model/losses.cpp).

#include "passes/distribution.h"

#include "ir/arithmetic.h"
#include "passes/deferred_factor.h"
#include "passes/distribution/own_values.h"
#include "passes/distribution/sample_draws.h"
#include "passes/numbers.h"
#include "passes/passes.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"

#include <cmath>

namespace gradus {
#define GEN_PASS_DEF_DATAPARALLEL
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// An attribute of graphs whose ranks work together already.
constexpr StringLiteral kShared = "gradus.shared";

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
    if (graph->hasAttr(kShared))
      return success();
    graph->setAttr(kShared, UnitAttr::get(&getContext()));
    Block &block = graph.getBody().front();
    OpBuilder builder = OpBuilder::atBlockBegin(&block);
    ranks = readRanks(builder, graph.getLoc(), getOperation());
    if (!ranks || failed(countDrawsByRank(getOperation(), graph)))
      return failure();
    shareConditions(block);
    factor = factorOfLoss(graph);
    auto range = block.getOps<ParameterUpdate>();
    SmallVector<ParameterUpdate> updates(range.begin(), range.end());
    for (ParameterUpdate update : updates)
      if (!update->hasAttr(kIsOfAllRanks) && failed(shareGradient(update)))
        return failure();
    if (settings.reduce == ReduceType::local) // passes/update/local_steps.cpp
      return success();
    shareFactors(graph);
    shareStatistics(block);
    shareOutputs(graph);
    if (sharesGradients()) // Else another pass reports.
      report(graph, updates.size());
    return success();
  }

  bool sharesGradients() const {
    return !settings.hasOwnWeights() && !settings.isSparse() &&
           settings.reduce != ReduceType::adasum;
  }

  LogicalResult shareGradient(ParameterUpdate update) {
    OpBuilder builder(update);
    Arithmetic math(builder, update.getLoc());
    OpOperand &gradient = update.getGradientUse();
    Value own = gradient.get();
    if (settings.own.clip) {
      Value limit = readNumber(builder, update.getLoc(), getOperation(),
                               *settings.own.clip);
      if (!limit)
        return failure();
      Value low = spreadLike(math, math.negate(limit), own);
      own = math.smaller(math.larger(own, low), spreadLike(math, limit, own));
    }
    if (!sharesGradients()) { // where else: passes/update/own_weights.h,
                              // sparse_reduce.cpp, adasum.h
      gradient.set(own);
      return success();
    }
    Value total =
        sumOverRanks(builder, update.getLoc(), own, update.getParameterName());
    if (settings.mean)
      total = math.divide(total, ranksLike(math, ranks, total));
    if (factor)
      total = math.multiply(total, spreadLike(math, factor, total));
    gradient.set(total);
    return success();
  }

  /// Curvature is that of all samples. What is equal on all ranks already, as
  /// it is measured on their mean sample, stays as it is.
  void shareFactors(GraphOp graph) {
    llvm::DenseSet<Value> own = ownValues(getOperation(), graph);
    for (auto factors : graph.getBody().front().getOps<FactorsOp>())
      for (OpOperand &side : factors->getOpOperands())
        if (own.contains(side.get())) {
          OpBuilder builder(factors);
          side.set(meanOfRanks(builder, side.get()));
        }
  }

  /// The number that autodiff has left out of the gradients; null if there is
  /// none. Where no label counts it is infinite, and gradients are 0.
  static Value factorOfLoss(GraphOp graph) {
    for (auto [index, output] : llvm::enumerate(graph.getReturned()))
      if (graph.getOutputName(index) == well_known::kLoss) {
        OpBuilder builder(graph.getContext());
        builder.setInsertionPointAfterValue(output);
        Arithmetic math(builder, output.getLoc());
        Value factor = deferredParts(output).factor(math);
        if (!factor)
          return {};
        Value infinite = math.number(INFINITY, factor);
        return math.select(math.less(math.absolute(factor), infinite), factor,
                           math.number(0, factor));
      }
    return {};
  }

  Value meanOfRanks(OpBuilder &builder, Value value) {
    return meanOverRanks(Arithmetic(builder, value.getLoc()), value, ranks);
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
                                         ? meanOfRanks(builder, value)
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
        output.set(meanOfRanks(builder, output.get()));
    }
  }

  void report(GraphOp graph, size_t gradients) {
    remark::passed(
        graph.getLoc(),
        remark::RemarkOpts::name("DataParallel").category(getArgument()))
        << ("@" + graph.getSymName() + " shares " + Twine(gradients) +
            " gradients with the other ranks")
               .str();
  }

  DistributionSettings settings;
  // These two are of the graph that is being changed.
  Value ranks;
  Value factor; // of summed gradients; null: they need none
};

} // namespace
} // namespace gradus
