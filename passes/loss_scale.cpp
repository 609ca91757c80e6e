// Divides the gradients by the loss scale, checks whether they are finite, and
// skips the step if not.
//
// Autodiff starts from the scaled loss (seedOfLoss). This pass runs right after
// it, so that all other methods see unscaled gradients, and batches of a sum
// may have different scales.

#include "passes/loss_scale.h"
#include "ir/arithmetic.h"
#include "passes/clock.h"
#include "passes/numbers.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "passes/train_graphs.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_LOSSSCALE
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

constexpr StringRef kScale = well_known::kLossScale;
constexpr StringRef kGoodSteps = "loss_scale_good_steps";
constexpr StringRef kSkipped = well_known::kSkippedSteps;

RankedTensorType scalarOf(Type element) {
  return RankedTensorType::get({}, element);
}

using Type = mlir::Type;
using Settings = LossScaleSettings;

bool isDynamic(const Settings &settings) {
  return settings.type == Settings::Type::dynamic;
}

/// The scale as an f32 scalar; null if its state cannot be added.
Value readScale(OpBuilder &builder, Location loc, ProgramOp program) {
  Settings scale = *lossScale().of(program);
  auto type = scalarOf(builder.getF32Type());
  if (!isDynamic(scale))
    return splat(builder, loc, type, scale.initial);
  if (failed(ensureState(program, kScale, type, Role::hyperparameter,
                         scale.initial)))
    return {};
  return readState(builder, loc, kScale, type);
}

struct LossScalePass : impl::LossScaleBase<LossScalePass> {
  using Base::Base;

  void runOnOperation() override {
    if (!skipsSteps(getOperation()))
      return;
    for (GraphOp train : trainGraphs(getOperation()))
      if (train.getBody().front().getOps<GuardOp>().empty())
        visit(train);
  }

  void visit(GraphOp train) {
    auto range = train.getBody().front().getOps<ParameterUpdate>();
    SmallVector<ParameterUpdate> updates(range.begin(), range.end());
    if (!updates.empty() && failed(run(train, updates)))
      signalPassFailure();
  }

  LogicalResult run(GraphOp train, ArrayRef<ParameterUpdate> updates) {
    OpBuilder builder(train.getBody().front().getTerminator());
    auto settings = lossScale().of(getOperation());
    Value scale;
    if (settings) {
      scale = readScale(builder, train.getLoc(), getOperation());
      if (!scale)
        return failure();
    }
    Block &block = train.getBody().front();
    for (ParameterUpdate update : updates) // later ops go before them
      update->moveBefore(block.getTerminator());
    auto range = block.getOps<FactorsOp>();
    SmallVector<FactorsOp> measured(range.begin(), range.end());
    for (FactorsOp factors : measured)
      factors->moveBefore(block.getTerminator());
    builder.setInsertionPoint(updates.front());
    Value finite = areFinite(builder, updates);
    if (scale) {
      unscale(updates, scale);
      unscale(measured, scale);
    }
    SmallVector<Attribute> always = {name(well_known::kStep)};
    if (failed(countSkipped(builder, train.getLoc(), finite, always)))
      return failure();
    if (scale && isDynamic(*settings) &&
        failed(
            adapt(builder, train.getLoc(), *settings, scale, finite, always)))
      return failure();
    auto step = scalarOf(builder.getI64Type());
    if (failed(ensureState(getOperation(), well_known::kStep, step,
                           Role::counter)))
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

  /// True if all gradients are finite: x * 0 is 0 for finite x, else NaN. Each
  /// gradient is checked where it is computed, while it is in the cache.
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

  /// Second moments of gradients have the scale squared.
  static void unscale(ArrayRef<FactorsOp> measured, Value scale) {
    for (FactorsOp factors : measured)
      if (Value outputs = factors.getOutputs()) {
        OpBuilder builder(factors);
        Arithmetic math(builder, factors.getLoc());
        Value factor = math.divide(math.number(1, scale), scale);
        factors.getOutputsMutable().assign(math.multiply(
            outputs, spreadLike(math, math.multiply(factor, factor), outputs)));
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

  /// Shrinks the scale after an overflow, and grows it after `growth_interval`
  /// steps without one.
  LogicalResult adapt(OpBuilder &builder, Location loc,
                      const Settings &settings, Value scale, Value finite,
                      SmallVectorImpl<Attribute> &always) {
    Arithmetic math(builder, loc);
    auto type = scalarOf(builder.getI64Type());
    if (failed(ensureState(getOperation(), kGoodSteps, type, Role::counter)))
      return failure();
    Value good = readState(builder, loc, kGoodSteps, type);
    Value next =
        arith::AddIOp::create(builder, loc, good, splatLike(builder, good, 1));
    Value grows = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sge, next,
        splatLike(builder, next, settings.growthInterval));
    Value zero = splatLike(builder, good, 0);
    Value after = math.select(grows, zero, next);
    writeState(builder, loc, kGoodSteps, math.select(finite, after, zero));
    writeState(
        builder, loc, kScale,
        math.select(finite,
                    math.select(grows, grown(math, settings, scale), scale),
                    shrunk(math, settings, scale)));
    always.append({name(kGoodSteps), name(kScale)});
    return success();
  }

  /// The grown scale; unchanged if it would overflow, unless that is allowed.
  static Value grown(const Arithmetic &math, const Settings &settings,
                     Value scale) {
    Value more = math.multiply(scale, math.number(settings.factor, scale));
    if (settings.growsToInfinity)
      return more;
    Value infinite = math.number(std::numeric_limits<double>::infinity(), more);
    return math.select(math.less(more, infinite), more, scale);
  }

  static Value shrunk(const Arithmetic &math, const Settings &settings,
                      Value scale) {
    Value less = math.multiply(scale, math.number(1 / settings.factor, scale));
    return math.larger(less, math.number(settings.minimum, scale));
  }

  void report(GraphOp train) {
    remark::passed(train.getLoc(),
                   remark::RemarkOpts::name("Guarded").category(getArgument()))
        << "a step whose gradients are not finite changes nothing";
  }
};

recipe::Field lossScaleKey() {
  using enum recipe::Kind;
  using recipe::Field, recipe::Keys;
  using Choice = recipe::Choice;
  const auto initial =
      Field{"initial", number, "65536", "the first scale"}.from(1e-30).into(
          &Settings::initial);
  const Keys<Settings> dynamic = {
      initial,
      Field{"factor", number, "2.0",
            "by which it grows, and shrinks after an overflow"}
          .from(1)
          .into(&Settings::factor),
      Field{"growth_interval", integer, "2000",
            "steps without overflow until it grows"}
          .from(1)
          .into(&Settings::growthInterval),
      Field{"minimum", number, "1.0", "it does not shrink below"}.from(0).into(
          &Settings::minimum),
      Field{"grow_to_infinity", boolean, "false",
            "whether it grows beyond the largest number of f32, and every step "
            "from there on is skipped"}
          .under({"mindspore"}, "true")
          .into(&Settings::growsToInfinity)};
  return Field{"loss_scale", variant, "null",
               "keeps small gradients above zero in f16; with that precision "
               "dynamic, unless null or false is written"}
      .among({Choice("static", Keys<Settings>{initial}),
              Choice("dynamic", dynamic)})
      .typeInto(&Settings::type)
      .switched()
      .flagged();
}

} // namespace

const recipe::Method<LossScaleSettings> &lossScale() {
  static const recipe::Method<LossScaleSettings> method{lossScaleKey()};
  return method;
}

Value seedOfLoss(OpBuilder &builder, Location loc, ProgramOp program,
                 RankedTensorType type) {
  if (!lossScale().of(program))
    return splat(builder, loc, type, 1);
  Value scale = readScale(builder, loc, program);
  return scale ? convert(builder, loc, scale, type.getElementType()) : scale;
}

} // namespace gradus
