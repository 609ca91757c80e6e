// Turns every update into the optimizer's arithmetic and writes.
//
// The last pass that knows of gradients: after it a training step is arithmetic
// on states. The rules stand in passes/optimizers/, one file each.

#include "passes/clock.h"
#include "passes/local/gradient_freeze.h"
#include "passes/optimizers/parameters.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "passes/step_variants.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_EXPANDOPTIMIZER
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// The values that all updates of a step share.
struct Shared {
  ParameterGroups groups;
  Clock clock;
  Schedules schedules;
  std::string cut; // "_cut1" where a frozen step has slots of its own
  llvm::StringMap<WriteOp> written; // by methods, by the names of states
};

struct ExpandOptimizerPass : impl::ExpandOptimizerBase<ExpandOptimizerPass> {
  using Base::Base;

  void runOnOperation() override {
    for (GraphOp train : trainGraphs(getOperation()))
      visit(train);
  }

  void visit(GraphOp train) {
    auto range = train.getBody().front().getOps<ParameterUpdate>();
    SmallVector<ParameterUpdate> updates(range.begin(), range.end());
    if (!updates.empty() && failed(expandAll(train, updates)))
      signalPassFailure();
  }

  LogicalResult expandAll(GraphOp train, ArrayRef<ParameterUpdate> updates) {
    // Before the first update, so that every update may use it.
    OpBuilder builder(updates.front());
    FailureOr<Shared> shared = readShared(builder, train);
    if (failed(shared))
      return failure();
    if (train.getSymName() == well_known::kTrain && // once for all variants
        failed(shared->groups.verifyMatches()))
      return failure();
    States states(getOperation());
    for (ParameterUpdate update : updates)
      if (failed(expand(update, *shared, states)))
        return failure();
    builder.setInsertionPoint(train.getBody().front().getTerminator());
    advanceClock(builder, train.getLoc(), getOperation());
    if (keepsApart())
      countUpdate(builder, train);
    return success();
  }

  //===-- steps that are frozen -------------------------------------------===//

  /// Whether each cut of gradient freezing has slots of its own and counts its
  /// own updates.
  bool keepsApart() {
    auto freeze = gradientFreeze().of(getOperation());
    return freeze && !freeze->isByHand() && freeze->hasOwnSlots;
  }

  static std::string countOf(GraphOp train) {
    return ("gradient_freeze/updates/" + kTrain + slotSuffixOf(train)).str();
  }

  /// The updates of a cut so far, as a scalar of i64; null where there cannot
  /// be such a state.
  Value readCount(OpBuilder &builder, GraphOp train) {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    if (failed(
            ensureState(getOperation(), countOf(train), type, Role::counter)))
      return {};
    return readState(builder, train.getLoc(), countOf(train), type);
  }

  void countUpdate(OpBuilder &builder, GraphOp train) {
    Value count = readCount(builder, train);
    Value next = arith::AddIOp::create(builder, train.getLoc(), count,
                                       splatLike(builder, count, 1));
    writeState(builder, train.getLoc(), countOf(train), next);
  }

  LogicalResult keepApart(OpBuilder &builder, GraphOp train, Shared &shared) {
    Value count = readCount(builder, train);
    if (!count)
      return failure();
    Arithmetic math(builder, train.getLoc());
    Value own = arith::SIToFPOp::create(builder, train.getLoc(),
                                        tensorType(shared.clock.number), count);
    shared.clock.number = math.add(own, math.number(1, own));
    shared.cut = slotSuffixOf(train);
    return success();
  }

  /// Returns the number of a parameter's updates, this one included.
  static Value numberOf(const Arithmetic &math, ParameterUpdate update,
                        const Shared &shared) {
    auto rested = update->getAttrOfType<IntegerAttr>(kRested);
    Value number = shared.clock.number;
    if (!rested)
      return number;
    return math.subtract(number, math.number(rested.getInt(), number));
  }

  //===-- expansion -------------------------------------------------------===//

  FailureOr<Shared> readShared(OpBuilder &builder, GraphOp train) {
    Location loc = train.getLoc();
    auto clock = readClock(builder, loc, getOperation());
    if (failed(clock))
      return failure();
    auto schedules =
        Schedules::read(Arithmetic(builder, loc), getOperation(), clock->step);
    if (failed(schedules))
      return failure();
    Shared shared{ParameterGroups(getOperation()), *clock, *schedules, "", {}};
    for (auto write : train.getBody().front().getOps<WriteOp>())
      shared.written[write.getState()] = write;
    if (keepsApart() && failed(keepApart(builder, train, shared)))
      return failure();
    return shared;
  }

  LogicalResult expand(ParameterUpdate update, const Shared &shared,
                       States &states) {
    OpBuilder builder(update);
    Arithmetic math(builder, update.getLoc());
    std::string name = update.getParameterName().str();
    ParameterSettings settings = shared.groups.settingsOf(name);
    if (settings.isFrozen) // an update written by hand
      return update->erase(), success();
    const Optimizer &optimizer = settings.optimizer();
    Value gradient = update.getGradientUse().get();
    Value parameter =
        startOf(builder, update, tensorType(gradient), shared.written);
    if (settings.common.maximize)
      gradient = math.negate(gradient);
    ParameterStep step{math,
                       settings.common,
                       shared.schedules,
                       parameter,
                       gradient,
                       /*learningRate=*/Value(),
                       numberOf(math, update, shared),
                       states,
                       std::string(optimizer.name) + shared.cut,
                       name,
                       settings.learningRateFactor,
                       getOperation(),
                       settings.own.where()};
    step.hasMomentum = update->hasAttr(kHasMomentum);
    step.learningRate = learningRate(step, update);
    if (failed(optimizer.rule(step, settings.own)) || step.failed)
      return failure();
    report(update, optimizer);
    update->erase();
    return success();
  }

  /// The value that the optimizer moves: what the graph writes, which is then
  /// the optimizer's to write, else the parameter at the start of the step.
  static Value startOf(OpBuilder &builder, ParameterUpdate update,
                       RankedTensorType type,
                       const llvm::StringMap<WriteOp> &written) {
    StringRef name = update.getParameterName();
    WriteOp write = written.lookup(name);
    if (!write)
      return readState(builder, update.getLoc(), name, type);
    Value value = write.getValue();
    write.erase();
    return value;
  }

  /// The learning rate of one parameter, with the factors of its groups and of
  /// its update, under the schedule.
  static Value learningRate(ParameterStep &step, ParameterUpdate update) {
    const Arithmetic &math = step.math;
    Value rate = step.plain(step.settings.learningRate);
    SmallVector<double> factors = {step.learningRateFactor};
    if (auto factor = update->getAttrOfType<FloatAttr>("learning_rate_factor"))
      factors.push_back(factor.getValueAsDouble());
    for (double factor : factors)
      if (factor != 1)
        rate = math.multiply(rate, step.scalar(factor));
    Value factor = step.schedules.factorOf("learning_rate");
    return factor ? math.multiply(factor, rate) : rate;
  }

  void report(ParameterUpdate update, const Optimizer &optimizer) {
    remark::passed(update.getLoc(),
                   remark::RemarkOpts::name("Expanded").category(getArgument()))
        << optimizer.name << " moves " << update.getParameterName();
  }
};

} // namespace
} // namespace gradus
