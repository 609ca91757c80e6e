// Clips the gradients as the recipe's `clip` or `clip_update` says.
//
// Runs on final gradients, summed over machines and batches: before weight
// decay, and once more behind all that changes them, right before the
// optimizer.

#include "passes/methods/clip_gradients.h"

#include "passes/methods/gradient_norm.h"
#include "passes/methods/pass_option.h"
#include "passes/numbers.h"
#include "passes/passes.h"
#include "passes/state.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_CLIPGRADIENTS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// Multiplies a tensor by a scalar.
Value scale(const Arithmetic &math, Value scalar, Value like) {
  RankedTensorType type = tensorType(like);
  Value factor = convert(math.builder, math.loc, scalar, type.getElementType());
  return math.multiply(
      like, broadcastScalar(math.builder, math.loc, factor, type.getShape()));
}

Value divide(const Arithmetic &math, Value value, Value scalar) {
  RankedTensorType type = tensorType(value);
  Value divisor =
      convert(math.builder, math.loc, scalar, type.getElementType());
  return math.divide(
      value, broadcastScalar(math.builder, math.loc, divisor, type.getShape()));
}

/// The norm of each output of a weight, [outputs]; of a vector one norm.
Value unitNorms(const Arithmetic &math, Value value) {
  int64_t rank = tensorType(value).getRank();
  Value numbers = wide(math, value);
  Value squares = math.multiply(numbers, numbers);
  SmallVector<int64_t> axes = rank < 2 ? allAxes(rank) : axesExcept(rank, {0});
  return math.squareRoot(sum(math.builder, math.loc, squares, axes));
}

using Bounds = ClipSettings::Bounds;

struct ClipGradientsPass : impl::ClipGradientsBase<ClipGradientsPass> {
  using Base::Base;

  void runOnOperation() override {
    if (failed(verifyOption(
            getOperation(), getArgument(), "key", key,
            {StringRef(clip().field.key), StringRef(clipUpdate().field.key)})))
      return signalPassFailure();
    auto wanted = method().of(getOperation());
    if (!wanted)
      return;
    settings = *wanted;
    states.emplace(getOperation());
    if (!verifyName())
      return signalPassFailure();
    for (GraphOp train : trainGraphs(getOperation())) {
      auto range = train.getBody().front().getOps<ParameterUpdate>();
      SmallVector<ParameterUpdate> updates(range.begin(), range.end());
      if (!updates.empty())
        bound(train, updates);
    }
  }

  const recipe::Method<ClipSettings> &method() const {
    return key == clipUpdate().field.key ? clipUpdate() : clip();
  }

  /// Whether the model leaves the name of `clip.value` free.
  bool verifyName() {
    OpBuilder nowhere(&getContext());
    Block block;
    nowhere.setInsertionPointToEnd(&block);
    return bool(limit(Arithmetic(nowhere, getOperation().getLoc())));
  }

  /// The largest allowed, as a scalar of f64.
  Value limit(const Arithmetic &math) {
    return readNumber(math.builder, math.loc, *states, settings.value);
  }

  void bound(GraphOp train, ArrayRef<ParameterUpdate> updates) {
    OpBuilder builder(train.getBody().front().getTerminator());
    if (settings.bounds == Bounds::globalNorm)
      return byGlobalNorm(builder, updates);
    for (ParameterUpdate update : updates) {
      builder.setInsertionPoint(update);
      Arithmetic math(builder, update.getLoc());
      update.getGradientUse().set(bounded(math, update));
      report(update);
    }
  }

  Value bounded(const Arithmetic &math, ParameterUpdate update) {
    Value gradient = update.getGradientUse().get();
    if (settings.bounds == Bounds::norm)
      return scale(math, factor(math, sumOfSquares(math, gradient)), gradient);
    if (settings.bounds == Bounds::value)
      return byValue(math, gradient);
    return adaptively(math, update);
  }

  /// min(1, value / (norm + epsilon)), a scalar.
  Value factor(const Arithmetic &math, Value squares) {
    Value norm = math.squareRoot(squares);
    Value length = math.add(norm, math.number(settings.normEpsilon, norm));
    Value ratio = math.divide(spreadLike(math, limit(math), norm), length);
    return math.smaller(ratio, math.number(1, ratio));
  }

  /// max(1, norm / value), a scalar.
  Value divisor(const Arithmetic &math, Value squares) {
    Value norm = math.squareRoot(squares);
    Value ratio = math.divide(norm, spreadLike(math, limit(math), norm));
    return math.larger(ratio, math.number(1, ratio));
  }

  void byGlobalNorm(OpBuilder &builder, ArrayRef<ParameterUpdate> updates) {
    builder.setInsertionPoint(updates.back());
    SmallVector<std::pair<Location, Value>> gradients;
    for (ParameterUpdate update : updates)
      gradients.emplace_back(update.getLoc(), update.getGradientUse().get());
    Value squares = sumOfAllSquares(builder, gradients);
    Arithmetic scalars(builder, squares.getLoc());
    Value common =
        settings.divides ? divisor(scalars, squares) : factor(scalars, squares);
    for (ParameterUpdate update : updates) {
      Arithmetic math(builder, update.getLoc());
      OpOperand &gradient = update.getGradientUse();
      gradient.set(settings.divides ? divide(math, gradient.get(), common)
                                    : scale(math, common, gradient.get()));
      update->moveBefore(update->getBlock()->getTerminator());
      report(update);
    }
  }

  Value byValue(const Arithmetic &math, Value gradient) {
    Value maximum = limit(math), minimum = math.negate(maximum);
    Value low = math.larger(gradient, spreadLike(math, minimum, gradient));
    return math.smaller(low, spreadLike(math, maximum, gradient));
  }

  /// Brock et al., https://arxiv.org/abs/2102.06171: each output's gradient is
  /// at most `value` times as long as its weights.
  Value adaptively(const Arithmetic &math, ParameterUpdate update) {
    Value gradient = update.getGradientUse().get();
    RankedTensorType type = tensorType(gradient);
    Value parameter =
        readState(math.builder, math.loc, update.getParameterName(), type);
    Value norm = unitNorms(math, gradient);
    Value length = unitNorms(math, parameter);
    length = math.larger(length, math.number(settings.epsilon, length));
    Value bound = math.multiply(length, spreadLike(math, limit(math), length));
    Value ratio =
        math.divide(bound, math.larger(norm, math.number(1e-6, norm)));
    Value one = math.number(1, ratio);
    Value factor = math.select(math.less(norm, bound), one, ratio);
    factor = convert(math.builder, math.loc, factor, type.getElementType());
    if (tensorType(factor).getRank() == 0)
      return scale(math, factor, gradient);
    return math.multiply(gradient, broadcast(math.builder, math.loc, factor,
                                             type.getShape(), {0}));
  }

  void report(ParameterUpdate update) const {
    remark::passed(update.getLoc(),
                   remark::RemarkOpts::name("Clipped").category(getArgument()))
        << "gradient of " << update.getParameterName() << " bounded by "
        << StringRef(method().field.choices[size_t(settings.bounds)].name);
  }

  ClipSettings settings;
  std::optional<States> states;
};

} // namespace

static recipe::Field keyNamed(std::string_view name, std::string_view help) {
  using enum recipe::Kind;
  using recipe::Field, recipe::Keys;
  using Clip = ClipSettings;
  const auto value =
      Field{"value", number, "1.0", "the largest allowed"}.positive().into(
          &Clip::value);
  const auto ratio = Field{"value", number, "0.01",
                           "the largest allowed, as part of the weights' norm"}
                         .positive()
                         .into(&Clip::value);
  const auto floor = Field{"epsilon", number, "0.001",
                           "the minimum norm that weights count with"}
                         .from(0)
                         .into(&Clip::epsilon);
  const auto added = Field{"norm_epsilon", number, "1e-6",
                           "added to the norm that is divided by"}
                         .from(0)
                         .under({"mindspore", "singa"}, "0.0")
                         .into(&Clip::normEpsilon);
  const auto divides =
      Field{"divide", boolean, "false",
            "divide by max(1, norm / value) instead, without norm_epsilon"}
          .under({"timm"}, "true")
          .into(&Clip::divides);
  return Field{name, variant, "null", help}
      .among({{"global_norm", Keys<Clip>{value, added, divides}},
              {"norm", Keys<Clip>{value, added}},
              {"value", Keys<Clip>{value}},
              {"adaptive", Keys<Clip>{ratio, floor}}})
      .typeInto(&Clip::bounds)
      .switched()
      .flagged();
}

const recipe::Method<ClipSettings> &clip() {
  static const recipe::Method<ClipSettings> method{
      keyNamed("clip", "bounds the gradients")};
  return method;
}

const recipe::Method<ClipSettings> &clipUpdate() {
  static const recipe::Method<ClipSettings> method{keyNamed(
      "clip_update", "bounds what the optimizer gets: gradients behind "
                     "preconditioning and weight decay")};
  return method;
}

} // namespace gradus
