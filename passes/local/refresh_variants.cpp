// Takes the measurement of curvature out of most steps: they use what an
// earlier one has measured and inverted.
//
// Runs behind trace_factors and before freezing, whose cuts are of the step
// that measures nothing: an update that refreshes trains everything.

#include "ir/arithmetic.h"
#include "passes/passes.h"
#include "passes/preconditioning.h"
#include "passes/step_variants.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_REFRESHVARIANTS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

constexpr StringLiteral kRefresh = "train_refresh";
constexpr StringLiteral kMeasure = "train_measure";

struct RefreshVariantsPass : impl::RefreshVariantsBase<RefreshVariantsPass> {
  using Base::Base;

  void runOnOperation() override {
    auto settings = preconditioning().of(getOperation());
    GraphOp train = getOperation().getGraph(kTrain);
    if (!settings || !train || factorsOf(train).empty())
      return;
    if (isInEach(*settings))
      return;
    if (failed(addVariants(train, *settings)))
      return signalPassFailure();
    for (FactorsOp factors : factorsOf(train))
      factors.erase();
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("Refreshed").category(getArgument()))
        << ("@" + kRefresh + " measures curvature, @train does not").str();
  }

private:
  static SmallVector<FactorsOp> factorsOf(GraphOp graph) {
    auto range = graph.getBody().front().getOps<FactorsOp>();
    return {range.begin(), range.end()};
  }

  /// Whether each update refreshes, so that there is one form of the step.
  static bool isInEach(const PreconditionSettings &settings) {
    return !settings.refresh.at && settings.refresh.every == 1;
  }

  LogicalResult addVariants(GraphOp train,
                            const PreconditionSettings &settings) {
    cloneVariant(train, kRefresh, kUpdates);
    SmallVector<std::string> names = {kRefresh.str()};
    if (settings.measuresOften()) {
      GraphOp measure = cloneVariant(train, kMeasure, kUpdates);
      for (FactorsOp factors : factorsOf(measure))
        factors.setMeasuredOnly(true);
      names.push_back(kMeasure.str());
    }
    const RefreshSettings &refresh = settings.refresh;
    auto choose = [&](OpBuilder &builder, Value update) {
      return refresh.at ? atUpdates(builder, update, *refresh.at)
                        : inTurn(builder, update, settings);
    };
    return addChoices(getOperation(), names, /*first=*/1, choose);
  }

  /// 1 at the given updates, else 0.
  static Value atUpdates(OpBuilder &builder, Value update,
                         ArrayRef<int64_t> updates) {
    Arithmetic math(builder, update.getLoc());
    Value chosen = math.number(0, update);
    for (int64_t at : updates)
      chosen = math.select(math.compare(arith::CmpIPredicate::eq, update,
                                        math.number(at, update)),
                           math.number(1, update), chosen);
    return chosen;
  }

  static Value isMultiple(const Arithmetic &math, Value update, int64_t every) {
    Value rest = math.make<arith::RemSIOp>(update, math.number(every, update));
    return math.compare(arith::CmpIPredicate::eq, rest, math.number(0, update));
  }

  /// 1 where it is time to refresh, else 2 where it is time to measure, else 0.
  static Value inTurn(OpBuilder &builder, Value update,
                      const PreconditionSettings &settings) {
    Arithmetic math(builder, update.getLoc());
    const RefreshSettings &refresh = settings.refresh;
    Value rest = math.number(0, update);
    if (settings.measuresOften())
      rest = math.select(isMultiple(math, update, *refresh.measureEvery),
                         math.number(2, update), rest);
    return math.select(isMultiple(math, update, refresh.every),
                       math.number(1, update), rest);
  }
};

} // namespace
} // namespace gradus
