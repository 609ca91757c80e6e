// Sums the gradients of several batches before an update.
//
// Each training graph gets a second variant that only accumulates; a schedule
// runs the full one at the last batch of each update. Runs after loss_scale, so
// that the sums are unscaled, and before passes that need final gradients.

#include "ir/arithmetic.h"
#include "passes/clock.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "passes/step_variants.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_GRADIENTACCUMULATION
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// The name of the variant: @train_accumulate_cut1 for @train_cut1.
std::string accumulating(StringRef train) {
  return (kTrain + "_accumulate" + suffixOf(train)).str();
}

/// The states that gradients, and factors of curvature, are added up in.
std::string sumOf(ParameterUpdate update) {
  return "accumulation/gradient/" + update.getParameterName().str();
}
std::string sumOf(FactorsOp factors, OpOperand &side) {
  bool isInputs = factors.getInputs() && side.getOperandNumber() == 0;
  return ("accumulation/" + StringRef(isInputs ? "inputs" : "outputs") + "/" +
          factors.getParameter())
      .str();
}

struct GradientAccumulationPass
    : impl::GradientAccumulationBase<GradientAccumulationPass> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp train = getOperation().getGraph(well_known::kTrain);
    int64_t batches = stepsPerUpdate(getOperation());
    if (!train || batches < 2 ||
        !graphsThat(kAccumulates, getOperation()).empty())
      return;
    if (train.getBody().front().getOps<ParameterUpdate>().empty())
      return;
    for (GraphOp graph : trainGraphs(getOperation()))
      if (failed(accumulate(graph, batches)))
        return signalPassFailure();
    if (failed(addAccumulation(getOperation(), accumulating)))
      return signalPassFailure();
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
      if (failed(addUp(update, update.getGradientUse(), sumOf(update), first,
                       batches, states)))
        return failure();
    for (FactorsOp factors : factorsOf(train)) {
      factors->moveBefore(train.getBody().front().getTerminator());
      for (OpOperand &side : factors->getOpOperands())
        if (failed(addUp(factors, side, sumOf(factors, side), first, batches,
                         states)))
          return failure();
    }
    addVariant(train);
    return success();
  }

  static SmallVector<FactorsOp> factorsOf(GraphOp graph) {
    auto range = graph.getBody().front().getOps<FactorsOp>();
    return {range.begin(), range.end()};
  }

  /// Adds the values of the batches so far, each divided by the number of
  /// batches, in a state.
  static LogicalResult addUp(Operation *op, OpOperand &value,
                             const std::string &name, Value first,
                             int64_t batches, States &states) {
    OpBuilder builder(op);
    Arithmetic math(builder, op->getLoc());
    RankedTensorType type = tensorType(value.get());
    if (failed(states.ensure(name, type, Role::slot)))
      return failure();
    // Each rank adds up what its own samples give.
    states.find(name).setDiffersAlongAttr(builder.getStrArrayAttr({kDataAxis}));
    Value old = readState(builder, op->getLoc(), name, type);
    Value begins =
        broadcastScalar(builder, op->getLoc(), first, type.getShape());
    old = math.select(begins, math.number(0, old), old);
    Value share = math.divide(value.get(), math.number(batches, old));
    value.set(math.add(old, share));
    return success();
  }

  /// Adds a copy of the step that writes the sums and updates nothing.
  void addVariant(GraphOp train) {
    GraphOp variant =
        cloneVariant(train, accumulating(train.getSymName()), kAccumulates);
    OpBuilder builder(variant);
    Block &block = variant.getBody().front();
    for (auto update :
         llvm::make_early_inc_range(block.getOps<ParameterUpdate>())) {
      builder.setInsertionPoint(update);
      writeState(builder, update.getLoc(), sumOf(update),
                 update.getGradientUse().get());
      update->erase();
    }
    for (FactorsOp factors : factorsOf(variant)) {
      builder.setInsertionPoint(factors);
      for (OpOperand &side : factors->getOpOperands())
        writeState(builder, factors.getLoc(), sumOf(factors, side), side.get());
      factors.erase();
    }
    builder.setInsertionPoint(block.getTerminator());
    advanceClock(builder, variant.getLoc(), getOperation());
  }
};

} // namespace
} // namespace gradus
