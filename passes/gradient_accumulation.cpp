// Sums the gradients of several batches before an update.
//
// The step gets a second variant that only adds up; a schedule runs the whole
// one at the last batch of each update. Runs after loss_scale, so that what is
// added up has no scale, and before what looks at final gradients.

#include "passes/arithmetic.h"
#include "passes/clock.h"
#include "passes/passes.h"
#include "passes/state.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_GRADIENTACCUMULATION
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

constexpr StringRef kVariant = "train_accumulate";

std::string sumOf(ParameterUpdate update) {
  return "accumulation/gradient/" + update.getParameterName().str();
}

struct GradientAccumulationPass
    : impl::GradientAccumulationBase<GradientAccumulationPass> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp train = getOperation().getGraph("train");
    int64_t batches = stepsPerUpdate(recipeOf(getOperation()));
    if (!train || batches < 2 || getOperation().getGraph(kVariant))
      return;
    auto range = train.getBody().front().getOps<ParameterUpdate>();
    SmallVector<ParameterUpdate> updates(range.begin(), range.end());
    if (!updates.empty() && failed(accumulate(train, updates, batches)))
      signalPassFailure();
  }

  LogicalResult accumulate(GraphOp train, ArrayRef<ParameterUpdate> updates,
                           int64_t batches) {
    OpBuilder builder(updates.front());
    if (failed(readClock(builder, train.getLoc(), getOperation())))
      return failure();
    Value first = isFirstOfUpdate(builder, train.getLoc(), getOperation());
    for (ParameterUpdate update : updates)
      if (failed(addUp(update, first, batches)))
        return failure();
    addVariant(train);
    addSchedule(train, batches);
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("Accumulated").category(getArgument()))
        << "gradients of " << std::to_string(batches)
        << " batches make one update";
    return success();
  }

  /// The mean over the batches so far, over the number of all of them.
  LogicalResult addUp(ParameterUpdate update, Value first, int64_t batches) {
    OpBuilder builder(update);
    Arithmetic math(builder, update.getLoc());
    OpOperand &gradient = update.getGradientUse();
    RankedTensorType type = tensorType(gradient.get());
    if (failed(ensureState(getOperation(), sumOf(update), type, Role::slot)))
      return failure();
    Value old = readState(builder, update.getLoc(), sumOf(update), type);
    Value begins =
        broadcastScalar(builder, update.getLoc(), first, type.getShape());
    old = math.select(begins, math.number(0, old), old);
    Value share = math.divide(gradient.get(), math.number(batches, old));
    gradient.set(math.add(old, share));
    return success();
  }

  /// The same step, which writes the sums and updates nothing.
  void addVariant(GraphOp train) {
    OpBuilder builder(train);
    builder.setInsertionPointAfter(train);
    auto variant = cast<GraphOp>(builder.clone(*train));
    variant.setSymName(kVariant);
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
    OpBuilder builder(train);
    builder.setInsertionPointToEnd(train->getBlock());
    StringRef counter = countingState(recipeOf(getOperation()));
    auto name = [&](StringRef symbol) {
      return FlatSymbolRefAttr::get(&getContext(), symbol);
    };
    auto schedule = ScheduleOp::create(builder, train.getLoc(),
                                       name(train.getSymName()), name(counter));
    builder.createBlock(&schedule.getBody());
    VariantOp::create(builder, train.getLoc(), name(kVariant),
                      builder.getI64IntegerAttr(1),
                      builder.getI64IntegerAttr(0));
    VariantOp::create(builder, train.getLoc(), name(train.getSymName()),
                      builder.getI64IntegerAttr(batches),
                      builder.getI64IntegerAttr(batches - 1));
  }
};

} // namespace
} // namespace gradus
