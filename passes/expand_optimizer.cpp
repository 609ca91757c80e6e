// Turns every update into the optimizer's arithmetic and writes.
//
// The last pass that knows of gradients: after it a training step is arithmetic
// on states. The rules stand in passes/optimizers/, one file each.

#include "passes/learning_rate.h"
#include "passes/optimizers/optimizer.h"
#include "passes/passes.h"
#include "passes/state.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_EXPANDOPTIMIZER
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

struct Optimizer {
  StringRef name;
  UpdateRule rule;
};
const Optimizer optimizers[] = {{"sgd", sgd}, {"adam", adam}, {"adamw", adamw}};

const Optimizer *findOptimizer(const RecipeObject &recipe) {
  std::string type = recipe.text("type", "");
  SmallVector<StringRef> names;
  for (const Optimizer &optimizer : optimizers) {
    if (optimizer.name == type)
      return &optimizer;
    names.push_back(optimizer.name);
  }
  recipe.error("type") << "is \"" << type
                       << "\", expected one of: " << nearestFirst(type, names);
  return nullptr;
}

/// What all updates of a step share: scalars of f64.
struct Clock {
  Value step;           // i64, 0 at the first step
  Value number;         // 1 at the first step
  Value scheduleFactor; // on every learning rate
};

struct ExpandOptimizerPass : impl::ExpandOptimizerBase<ExpandOptimizerPass> {
  using Base::Base;

  void runOnOperation() override {
    GraphOp train = getOperation().getGraph("train");
    if (!train)
      return;
    auto range = train.getBody().front().getOps<ParameterUpdate>();
    SmallVector<ParameterUpdate> updates(range.begin(), range.end());
    ErrorWatch watch(&getContext());
    if (!updates.empty() &&
        (failed(expandAll(train, updates)) || watch.sawError()))
      signalPassFailure();
  }

  LogicalResult expandAll(GraphOp train, ArrayRef<ParameterUpdate> updates) {
    RecipeObject recipe = recipeOf(getOperation());
    const Optimizer *optimizer = findOptimizer(recipe.object("optimizer"));
    FailureOr<ParameterGroups> groups = ParameterGroups::read(getOperation());
    if (!optimizer || failed(groups))
      return failure();
    // Before the first update, so that every update may use it.
    OpBuilder builder(updates.front());
    FailureOr<Clock> clock = readClock(builder, train.getLoc(), recipe);
    if (failed(clock))
      return failure();
    for (ParameterUpdate update : updates)
      if (failed(expand(update, *optimizer, *groups, *clock)))
        return failure();
    builder.setInsertionPoint(train.getBody().front().getTerminator());
    advance(builder, train.getLoc(), *clock);
    return success();
  }

  FailureOr<Clock> readClock(OpBuilder &builder, Location loc,
                             const RecipeObject &recipe) {
    auto type = RankedTensorType::get({}, builder.getI64Type());
    if (failed(ensureState(getOperation(), "step", type, Role::counter)))
      return failure();
    Clock clock;
    clock.step = readState(builder, loc, "step", type);
    Value step = arith::SIToFPOp::create(
        builder, loc, type.clone(builder.getF64Type()), clock.step);
    Arithmetic math(builder, loc);
    clock.number = math.add(step, math.number(1, step));
    FailureOr<Value> factor = scheduleFactor(math, recipe, step);
    if (failed(factor))
      return failure();
    clock.scheduleFactor = *factor;
    return clock;
  }

  LogicalResult expand(ParameterUpdate update, const Optimizer &optimizer,
                       const ParameterGroups &groups, const Clock &clock) {
    OpBuilder builder(update);
    Arithmetic math(builder, update.getLoc());
    std::string name = update.getParameterName().str();
    ParameterSettings settings = groups.settingsOf(name);
    Value gradient = update.getGradientUse().get();
    Value parameter =
        readState(builder, update.getLoc(), name, tensorType(gradient));
    if (settings.flag("maximize", false))
      gradient = math.negate(gradient);
    ParameterStep step{math,
                       settings,
                       parameter,
                       gradient,
                       learningRate(math, update, settings, clock),
                       clock.number,
                       getOperation(),
                       optimizer.name.str(),
                       name};
    if (failed(optimizer.rule(step)) || step.nameClash)
      return failure();
    report(update, optimizer);
    update->erase();
    return success();
  }

  Value learningRate(const Arithmetic &math, ParameterUpdate update,
                     const ParameterSettings &settings, const Clock &clock) {
    double rate = settings.number("learning_rate", 1e-3);
    rate *= settings.learningRateFactor();
    if (auto factor = update->getAttrOfType<FloatAttr>("learning_rate_factor"))
      rate *= factor.getValueAsDouble();
    return math.multiply(clock.scheduleFactor,
                         math.number(rate, clock.scheduleFactor));
  }

  /// Counts the step.
  void advance(OpBuilder &builder, Location loc, const Clock &clock) {
    Value one = splatLike(builder, clock.step, 1);
    Value next = arith::AddIOp::create(builder, loc, clock.step, one);
    writeState(builder, loc, "step", next);
  }

  void report(ParameterUpdate update, const Optimizer &optimizer) {
    remark::passed(update.getLoc(),
                   remark::RemarkOpts::name("Expanded").category(getArgument()))
        << optimizer.name << " moves " << update.getParameterName();
  }
};

} // namespace
} // namespace gradus
