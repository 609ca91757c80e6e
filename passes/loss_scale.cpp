// Takes the loss scale off the gradients, looks whether they are finite, and
// lets a step with others change nothing.
//
// Autodiff starts from the scaled loss (seedOfLoss). This pass runs right after
// it, so that all other methods see true gradients, and sums over batches may
// have had different scales.

#include "passes/loss_scale.h"
#include "passes/arithmetic.h"
#include "passes/clock.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_LOSSSCALE
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

constexpr StringRef kScale = "loss_scale";
constexpr StringRef kGoodSteps = "loss_scale_good_steps";
constexpr StringRef kSkipped = "skipped_steps";

RankedTensorType scalarOf(Type element) {
  return RankedTensorType::get({}, element);
}

bool isDynamic(const RecipeObject &scale) {
  return scale.text("type", "") == "dynamic";
}

/// The scale as a scalar of f32; null where a state of it cannot be made.
Value readScale(OpBuilder &builder, Location loc, ProgramOp program) {
  RecipeObject scale = recipeOf(program).object("loss_scale");
  auto type = scalarOf(builder.getF32Type());
  double initial = scale.number("initial", 65536);
  if (!isDynamic(scale))
    return splat(builder, loc, type, initial);
  if (failed(ensureState(program, kScale, type, Role::hyperparameter, initial)))
    return {};
  return readState(builder, loc, kScale, type);
}

struct LossScalePass : impl::LossScaleBase<LossScalePass> {
  using Base::Base;

  void runOnOperation() override {
    if (!skipsSteps(recipeOf(getOperation())))
      return;
    for (GraphOp train : trainGraphs(getOperation()))
      if (train.getBody().front().getOps<GuardOp>().empty())
        visit(train);
  }

  void visit(GraphOp train) {
    auto range = train.getBody().front().getOps<ParameterUpdate>();
    SmallVector<ParameterUpdate> updates(range.begin(), range.end());
    ErrorWatch watch(&getContext());
    if (!updates.empty() && (failed(run(train, updates)) || watch.sawError()))
      signalPassFailure();
  }

  LogicalResult run(GraphOp train, ArrayRef<ParameterUpdate> updates) {
    OpBuilder builder(train.getBody().front().getTerminator());
    RecipeObject recipe = recipeOf(getOperation());
    Value scale;
    if (recipe.has("loss_scale")) {
      scale = readScale(builder, train.getLoc(), getOperation());
      if (!scale)
        return failure();
    }
    for (ParameterUpdate update : updates) // what follows is before them
      update->moveBefore(train.getBody().front().getTerminator());
    builder.setInsertionPoint(updates.front());
    Value finite = areFinite(builder, updates);
    if (scale)
      unscale(updates, scale);
    SmallVector<Attribute> always = {name("step")};
    if (failed(countSkipped(builder, train.getLoc(), finite, always)))
      return failure();
    if (scale && isDynamic(recipe.object("loss_scale")) &&
        failed(adapt(builder, train.getLoc(), scale, finite, always)))
      return failure();
    auto step = scalarOf(builder.getI64Type());
    if (failed(ensureState(getOperation(), "step", step, Role::counter)))
      return failure();
    GuardOp::create(builder, train.getLoc(), finite,
                    builder.getArrayAttr(always));
    report(train);
    return success();
  }

  FlatSymbolRefAttr name(StringRef state) {
    return FlatSymbolRefAttr::get(&getContext(), state);
  }

  static Value zeroIfFinite(Location loc, Value gradient) {
    OpBuilder builder(gradient.getContext());
    builder.setInsertionPointAfterValue(gradient);
    Arithmetic math(builder, loc);
    Value zeros = math.multiply(gradient, math.number(0, gradient));
    Value part =
        sum(builder, loc, zeros, allAxes(tensorType(gradient).getRank()));
    return convert(builder, loc, part, builder.getF32Type());
  }

  /// Whether all gradients are: x * 0 is 0 for finite x and NaN for others.
  /// Each is looked at where it is made, which is in cache there.
  static Value areFinite(OpBuilder &builder,
                         ArrayRef<ParameterUpdate> updates) {
    Value total;
    for (ParameterUpdate update : updates) {
      Value part = zeroIfFinite(update.getLoc(), update.getGradientUse().get());
      Arithmetic math(builder, update.getLoc());
      total = total ? math.add(total, part) : part;
    }
    return arith::CmpFOp::create(builder, total.getLoc(),
                                 arith::CmpFPredicate::OEQ, total,
                                 splatLike(builder, total, 0));
  }

  static void unscale(ArrayRef<ParameterUpdate> updates, Value scale) {
    for (ParameterUpdate update : updates) {
      OpBuilder builder(update);
      Arithmetic math(builder, update.getLoc());
      OpOperand &gradient = update.getGradientUse();
      RankedTensorType type = tensorType(gradient.get());
      Value factor = math.divide(math.number(1, scale), scale);
      factor = convert(builder, update.getLoc(), factor, type.getElementType());
      gradient.set(math.multiply(
          gradient.get(),
          broadcastScalar(builder, update.getLoc(), factor, type.getShape())));
    }
  }

  LogicalResult countSkipped(OpBuilder &builder, Location loc, Value finite,
                             SmallVectorImpl<Attribute> &always) {
    auto type = scalarOf(builder.getI64Type());
    if (failed(ensureState(getOperation(), kSkipped, type, Role::counter)))
      return failure();
    Value count = readState(builder, loc, kSkipped, type);
    Value next = arith::AddIOp::create(builder, loc, count,
                                       splatLike(builder, count, 1));
    writeState(builder, loc, kSkipped,
               arith::SelectOp::create(builder, loc, finite, count, next));
    always.push_back(name(kSkipped));
    return success();
  }

  /// Smaller after an overflow; larger after `growth_interval` steps without.
  LogicalResult adapt(OpBuilder &builder, Location loc, Value scale,
                      Value finite, SmallVectorImpl<Attribute> &always) {
    Arithmetic math(builder, loc);
    RecipeObject recipe = recipeOf(getOperation()).object("loss_scale");
    auto type = scalarOf(builder.getI64Type());
    if (failed(ensureState(getOperation(), kGoodSteps, type, Role::counter)))
      return failure();
    Value good = readState(builder, loc, kGoodSteps, type);
    Value next =
        arith::AddIOp::create(builder, loc, good, splatLike(builder, good, 1));
    Value grows = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sge, next,
        splatLike(builder, next, recipe.integer("growth_interval", 2000)));
    Value zero = splatLike(builder, good, 0);
    Value after = math.select(grows, zero, next);
    writeState(builder, loc, kGoodSteps, math.select(finite, after, zero));
    writeState(builder, loc, kScale,
               math.select(finite,
                           math.select(grows, grown(math, scale), scale),
                           shrunk(math, scale)));
    always.append({name(kGoodSteps), name(kScale)});
    return success();
  }

  double factor() {
    return recipeOf(getOperation()).object("loss_scale").number("factor", 2);
  }

  /// Stays where it would no longer be a number; MindSpore's does not.
  Value grown(const Arithmetic &math, Value scale) {
    Value more = math.multiply(scale, math.number(factor(), scale));
    if (recipeOf(getOperation()).text("compat", "pytorch") == "mindspore")
      return more;
    Value infinite = math.number(std::numeric_limits<double>::infinity(), more);
    return math.select(math.less(more, infinite), more, scale);
  }

  Value shrunk(const Arithmetic &math, Value scale) {
    Value less = math.multiply(scale, math.number(1 / factor(), scale));
    RecipeObject recipe = recipeOf(getOperation()).object("loss_scale");
    return math.larger(less, math.number(recipe.number("minimum", 1), scale));
  }

  void report(GraphOp train) {
    remark::passed(train.getLoc(),
                   remark::RemarkOpts::name("Guarded").category(getArgument()))
        << "a step whose gradients are not finite changes nothing";
  }
};

} // namespace

Value seedOfLoss(OpBuilder &builder, Location loc, ProgramOp program,
                 RankedTensorType type) {
  if (!recipeOf(program).has("loss_scale"))
    return splat(builder, loc, type, 1);
  Value scale = readScale(builder, loc, program);
  return scale ? convert(builder, loc, scale, type.getElementType()) : scale;
}

} // namespace gradus
