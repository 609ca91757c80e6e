// Sums the gradients of several batches before an update.
//
// Each training graph gets a second variant that only accumulates; a schedule
// runs the full one at the last batch of each update. Runs after loss_scale, so
// that the sums are unscaled, and before passes that need final gradients.

#include "ir/arithmetic.h"
#include "passes/clock.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "passes/train_graphs.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_GRADIENTACCUMULATION
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// The name of the variant: @train_accumulate_cut1 for @train_cut1.
std::string accumulating(StringRef train) {
  return (kAccumulating + suffixOf(train)).str();
}

std::string sumOf(ParameterUpdate update) {
  return "accumulation/gradient/" + update.getParameterName().str();
}

struct GradientAccumulationPass
    : impl::GradientAccumulationBase<GradientAccumulationPass> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp train = getOperation().getGraph(well_known::kTrain);
    int64_t batches = stepsPerUpdate(getOperation());
    if (!train || batches < 2 || getOperation().getGraph(kAccumulating))
      return;
    if (train.getBody().front().getOps<ParameterUpdate>().empty())
      return;
    for (GraphOp graph : trainGraphs(getOperation()))
      if (failed(accumulate(graph, batches)))
        return signalPassFailure();
    addSchedule(train, batches);
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("Accumulated").category(getArgument()))
        << "gradients of " << std::to_string(batches)
        << " batches make one update";
  }

  LogicalResult accumulate(GraphOp train, int64_t batches) {
    auto range = train.getBody().front().getOps<ParameterUpdate>();
    SmallVector<ParameterUpdate> updates(range.begin(), range.end());
    OpBuilder builder(updates.front());
    if (failed(readClock(builder, train.getLoc(), getOperation())))
      return failure();
    Value first = isFirstOfUpdate(builder, train.getLoc(), getOperation());
    States states(getOperation());
    for (ParameterUpdate update : updates)
      if (failed(addUp(update, first, batches, states)))
        return failure();
    addVariant(train);
    return success();
  }

  /// Adds the gradients of the batches so far, each divided by the number of
  /// batches.
  static LogicalResult addUp(ParameterUpdate update, Value first,
                             int64_t batches, States &states) {
    OpBuilder builder(update);
    Arithmetic math(builder, update.getLoc());
    OpOperand &gradient = update.getGradientUse();
    RankedTensorType type = tensorType(gradient.get());
    if (failed(states.ensure(sumOf(update), type, Role::slot)))
      return failure();
    // Each rank adds up the gradients of its own samples.
    states.find(sumOf(update))
        .setDiffersAlongAttr(builder.getStrArrayAttr({kDataAxis}));
    Value old = readState(builder, update.getLoc(), sumOf(update), type);
    Value begins =
        broadcastScalar(builder, update.getLoc(), first, type.getShape());
    old = math.select(begins, math.number(0, old), old);
    Value share = math.divide(gradient.get(), math.number(batches, old));
    gradient.set(math.add(old, share));
    return success();
  }

  /// Adds a copy of the step that writes the sums and updates nothing.
  void addVariant(GraphOp train) {
    OpBuilder builder(train);
    builder.setInsertionPointAfter(train);
    auto variant = cast<GraphOp>(builder.clone(*train));
    variant.setSymName(accumulating(train.getSymName()));
    Block &block = variant.getBody().front();
    for (auto update :
         llvm::make_early_inc_range(block.getOps<ParameterUpdate>())) {
      builder.setInsertionPoint(update);
      writeState(builder, update.getLoc(), sumOf(update),
                 update.getGradientUse().get());
      update->erase();
    }
    builder.setInsertionPoint(block.getTerminator());
    advanceClock(builder, variant.getLoc(), getOperation());
  }

  void addSchedule(GraphOp train, int64_t batches) {
    for (auto cuts : getOperation().getBody().getOps<ScheduleOp>())
      if (cuts.getGraph() == train.getSymName())
        return extend(cuts);
    OpBuilder builder(train);
    builder.setInsertionPointToEnd(train->getBlock());
    StringRef counter = countingState(getOperation());
    auto schedule = ScheduleOp::create(
        builder, train.getLoc(), symbol(train.getSymName()), symbol(counter));
    builder.createBlock(&schedule.getBody());
    addCase(builder, train.getLoc(), kAccumulating, 1, 0);
    addCase(builder, train.getLoc(), train.getSymName(), batches, batches - 1);
  }

  /// Extends the schedule of gradient freezing, whose state counts first the
  /// accumulating variants, then the full ones for the last batch of an update.
  void extend(ScheduleOp schedule) {
    OpBuilder builder = OpBuilder::atBlockBegin(&schedule.getBody().front());
    auto range = schedule.getBody().getOps<VariantOp>();
    SmallVector<VariantOp> cuts(range.begin(), range.end());
    int64_t count = cuts.size();
    for (VariantOp cut : cuts) {
      addCase(builder, cut.getLoc(), accumulating(cut.getGraph()), 2 * count,
              cut.getAt());
      cut.setEvery(2 * count);
      cut.setAt(count + cut.getAt());
    }
  }

  FlatSymbolRefAttr symbol(StringRef name) {
    return FlatSymbolRefAttr::get(&getContext(), name);
  }

  void addCase(OpBuilder &builder, Location loc, StringRef graph, int64_t every,
               int64_t at) {
    VariantOp::create(builder, loc, symbol(graph),
                      builder.getI64IntegerAttr(every),
                      builder.getI64IntegerAttr(at));
  }
};

} // namespace
} // namespace gradus
