// Divides the gradients by the loss scale, checks whether they are finite, and
// skips the step if not.
//
// Autodiff starts from the scaled loss (seedOfLoss), or passes borders at which
// gradients get their group's scale. This pass runs right after it, so that all
// other methods see unscaled gradients, and batches of a sum may have different
// scales.

#include "passes/loss_scale.h"
#include "ir/arithmetic.h"
#include "passes/clock.h"
#include "passes/loss_scale_groups.h"
#include "passes/numbers.h"
#include "passes/overflow_origin.h"
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

/// The scale of all gradients as an f32 scalar; null if its state cannot be
/// added.
Value readScale(OpBuilder &builder, Location loc, ProgramOp program) {
  Settings scale = *lossScale().of(program);
  auto type = scalarOf(builder.getF32Type());
  if (scale.type != Settings::Type::dynamic)
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
    Block &block = train.getBody().front();
    for (ParameterUpdate update : updates) // later ops go before them
      update->moveBefore(block.getTerminator());
    auto range = block.getOps<FactorsOp>();
    SmallVector<FactorsOp> measured(range.begin(), range.end());
    for (FactorsOp factors : measured)
      factors->moveBefore(block.getTerminator());
    builder.setInsertionPoint(updates.front());
    auto groups = ScaleGroups::of(getOperation());
    if (groups && failed(verifyMembers(*groups, updates)))
      return failure();
    SmallVector<Value> conditions =
        groups ? groupsWithoutOverflow(builder, *groups, updates)
               : SmallVector<Value>{areFinite(builder, updates)};
    SmallVector<Attribute> always = {name(well_known::kStep)};
    if (failed(unscale(updates)) || failed(unscale(measured)) ||
        failed(countSkipped(builder, train.getLoc(), conditions, always)) ||
        failed(groups ? adaptGroups(builder, train.getLoc(), *groups,
                                    conditions, always)
                      : adapt(builder, train.getLoc(), conditions.front(),
                              always)))
      return failure();
    auto step = scalarOf(builder.getI64Type());
    if (failed(ensureState(getOperation(), well_known::kStep, step,
                           Role::counter)))
      return failure();
    for (Value condition : conditions)
      if (condition)
        GuardOp::create(builder, train.getLoc(), condition,
                        builder.getArrayAttr(always));
    report(train);
    return success();
  }

  static LogicalResult verifyMembers(const ScaleGroups &groups,
                                     ArrayRef<ParameterUpdate> updates) {
    for (ParameterUpdate update : updates)
      if (!groups.groupOf(update.getParameterName()))
        return groups.reportMissing(update.getParameterName());
    return success();
  }

  FlatSymbolRefAttr name(StringRef state) {
    return FlatSymbolRefAttr::get(&getContext(), state);
  }

  /// True if all gradients are finite: x * 0 is 0 for finite x, else NaN.
  static Value areFinite(OpBuilder &builder,
                         ArrayRef<ParameterUpdate> updates) {
    Value total;
    for (ParameterUpdate update : updates) {
      Value part = zeroIfFinite(update.getGradientUse().get());
      Arithmetic math(builder, update.getLoc());
      total = total ? math.add(total, part) : part;
    }
    return arith::CmpFOp::create(builder, total.getLoc(),
                                 arith::CmpFPredicate::OEQ, total,
                                 splatLike(builder, total, 0));
  }

  /// Returns the factor that undoes the scale of a parameter's gradient, null
  /// with an error, nothing where gradients have no scale.
  std::optional<Value> inverseScale(const Arithmetic &math,
                                    StringRef parameter) {
    if (!lossScale().of(getOperation()))
      return std::nullopt;
    Value scale =
        scaleOfGradient(math.builder, math.loc, getOperation(), parameter);
    return scale ? math.divide(math.number(1, scale), scale) : scale;
  }

  LogicalResult unscale(ArrayRef<ParameterUpdate> updates) {
    for (ParameterUpdate update : updates) {
      OpBuilder builder(update);
      Arithmetic math(builder, update.getLoc());
      OpOperand &gradient = update.getGradientUse();
      RankedTensorType type = tensorType(gradient.get());
      std::optional<Value> factor =
          inverseScale(math, update.getParameterName());
      if (!factor)
        continue;
      if (!*factor)
        return failure();
      Value own =
          convert(builder, update.getLoc(), *factor, type.getElementType());
      gradient.set(math.multiply(
          gradient.get(),
          broadcastScalar(builder, update.getLoc(), own, type.getShape())));
    }
    return success();
  }

  /// Second moments of gradients have the scale squared.
  LogicalResult unscale(ArrayRef<FactorsOp> measured) {
    for (FactorsOp factors : measured)
      if (Value outputs = factors.getOutputs()) {
        OpBuilder builder(factors);
        Arithmetic math(builder, factors.getLoc());
        std::optional<Value> factor =
            inverseScale(math, factors.getParameter());
        if (!factor)
          continue;
        if (!*factor)
          return failure();
        factors.getOutputsMutable().assign(math.multiply(
            outputs,
            spreadLike(math, math.multiply(*factor, *factor), outputs)));
      }
    return success();
  }

  LogicalResult countSkipped(OpBuilder &builder, Location loc,
                             ArrayRef<Value> conditions,
                             SmallVectorImpl<Attribute> &always) {
    Value finite;
    for (Value condition : conditions)
      if (condition)
        finite =
            finite
                ? Value(arith::AndIOp::create(builder, loc, finite, condition))
                : condition;
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

  /// Changes the scales of the groups that the graph computes gradients of;
  /// `without` says of each whether no overflow began in it.
  LogicalResult adaptGroups(OpBuilder &builder, Location loc,
                            const ScaleGroups &groups, ArrayRef<Value> without,
                            SmallVectorImpl<Attribute> &always) {
    Arithmetic math(builder, loc);
    for (const auto &[group, condition] : llvm::enumerate(without)) {
      if (!condition)
        continue;
      Value scale = groups.read(builder, loc, group);
      if (!scale)
        return failure();
      std::string state = groupScaleName(group);
      writeState(builder, loc, state, groups.next(math, scale, condition));
      always.push_back(name(state));
    }
    return success();
  }

  /// Shrinks a dynamic scale after an overflow, and grows it after
  /// `growth_interval` steps without one.
  LogicalResult adapt(OpBuilder &builder, Location loc, Value finite,
                      SmallVectorImpl<Attribute> &always) {
    auto own = lossScale().of(getOperation());
    if (!own || own->type != Settings::Type::dynamic)
      return success();
    const Settings &settings = *own;
    Arithmetic math(builder, loc);
    Value scale = readScale(builder, loc, getOperation());
    if (!scale)
      return failure();
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

/// The keys of a scale for each group of parameters.
recipe::Keys<Settings> groupKeys() {
  using enum recipe::Kind;
  using recipe::Field;
  const Field scale = Field{"", number, "65536", "a scale"}.from(1e-30);
  return {
      Field{"groups", list, "[]",
            "for each scale the parameters whose gradients have it, in the "
            "order of the network"}
          .of({recipe::patterns("", "[]", "the parameters of a group")})
          .into(&Settings::groups),
      Field{"initial", list, "[65536]",
            "the first scale of each group, or of all"}
          .of({scale})
          .orOne()
          .into(&Settings::initials),
      Field{"growth", number, "1.0006933874625807",
            "the factor of a group's scale after a step in which no overflow "
            "began in the group: in 1000 such steps it doubles"}
          .from(1)
          .into(&Settings::growth),
      Field{"reduction", number, "0.7071067811865476",
            "the factor after a step in which one did"}
          .positive()
          .below(1)
          .into(&Settings::reduction),
      Field{"minimum", number, "1.0", "none shrinks below"}.from(1e-30).into(
          &Settings::minimum),
      Field{"maximum", number, "16777216.0", "none grows above"}
          .from(1e-30)
          .into(&Settings::maximum)};
}

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
              Choice("dynamic", dynamic), Choice("group", groupKeys())})
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
  if (!lossScale().of(program) || ScaleGroups::of(program))
    return splat(builder, loc, type, 1);
  Value scale = readScale(builder, loc, program);
  return scale ? convert(builder, loc, scale, type.getElementType()) : scale;
}

Value scaleOfGradient(OpBuilder &builder, Location loc, ProgramOp program,
                      StringRef parameter) {
  auto groups = ScaleGroups::of(program);
  if (!groups)
    return lossScale().of(program)
               ? readScale(builder, loc, program)
               : splat(builder, loc, scalarOf(builder.getF32Type()), 1);
  std::optional<size_t> group = groups->groupOf(parameter);
  if (group)
    return groups->read(builder, loc, *group);
  (void)groups->reportMissing(parameter);
  return {};
}

Value zeroIfFinite(Value value) {
  OpBuilder builder(value.getContext());
  builder.setInsertionPointAfterValue(value);
  Arithmetic math(builder, value.getLoc());
  Value zeros = math.multiply(value, math.number(0, value));
  Value part =
      sum(builder, math.loc, zeros, allAxes(tensorType(value).getRank()));
  return convert(builder, math.loc, part, builder.getF32Type());
}

} // namespace gradus
