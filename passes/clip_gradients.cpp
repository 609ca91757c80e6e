// Bounds the gradients as the recipe's `clip` says.
//
// Runs on final gradients: summed over machines and batches, before weight
// decay and the optimizer.

#include "passes/gradient_norm.h"
#include "passes/passes.h"
#include "passes/recipe.h"
#include "passes/state.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_CLIPGRADIENTS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// A scalar in every element of a tensor like `like`, times `like`.
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

/// Norms along each output of a weight, [outputs]; of a vector, one for all.
Value unitNorms(const Arithmetic &math, Value value) {
  int64_t rank = tensorType(value).getRank();
  Value numbers = wide(math, value);
  Value squares = math.multiply(numbers, numbers);
  SmallVector<int64_t> axes = rank < 2 ? allAxes(rank) : axesExcept(rank, {0});
  return math.squareRoot(sum(math.builder, math.loc, squares, axes));
}

struct ClipGradientsPass : impl::ClipGradientsBase<ClipGradientsPass> {
  using Base::Base;

  void runOnOperation() override {
    RecipeObject recipe = recipeOf(getOperation());
    if (!recipe.has("clip"))
      return;
    ErrorWatch watch(&getContext());
    for (GraphOp train : trainGraphs(getOperation())) {
      auto range = train.getBody().front().getOps<ParameterUpdate>();
      SmallVector<ParameterUpdate> updates(range.begin(), range.end());
      if (!updates.empty())
        clip(train, updates, recipe.object("clip"));
    }
    if (watch.sawError())
      signalPassFailure();
  }

  void clip(GraphOp train, ArrayRef<ParameterUpdate> updates,
            const RecipeObject &clip) {
    std::string type = clip.text("type", "");
    // PyTorch adds a little to the norm that it divides by.
    std::string compat = recipeOf(getOperation()).text("compat", "pytorch");
    epsilon = compat == "mindspore" || compat == "singa" ? 0 : 1e-6;
    OpBuilder builder(train.getBody().front().getTerminator());
    if (type == "global_norm")
      return byGlobalNorm(builder, updates, clip.number("value", 1));
    for (ParameterUpdate update : updates) {
      builder.setInsertionPoint(update);
      Arithmetic math(builder, update.getLoc());
      OpOperand &gradient = update.getGradientUse();
      if (type == "norm")
        gradient.set(byNorm(math, gradient.get(), clip.number("value", 1)));
      else if (type == "value")
        gradient.set(byValue(math, gradient.get(), clip.number("value", 1)));
      else if (type == "adaptive")
        gradient.set(adaptively(math, update, clip));
      else
        return (void)(clip.error("type")
                      << "is \"" << type
                      << "\", expected one of: global_norm, norm, value, "
                         "adaptive");
      report(update, type);
    }
  }

  /// min(1, bound / norm), a scalar.
  Value factor(const Arithmetic &math, Value squares, double bound) const {
    Value norm = math.squareRoot(squares);
    Value ratio = math.divide(math.number(bound, norm),
                              math.add(norm, math.number(epsilon, norm)));
    return math.smaller(ratio, math.number(1, ratio));
  }

  /// max(1, norm / bound), a scalar.
  static Value divisor(const Arithmetic &math, Value squares, double bound) {
    Value norm = math.squareRoot(squares);
    Value ratio = math.divide(norm, math.number(bound, norm));
    return math.larger(ratio, math.number(1, ratio));
  }

  void byGlobalNorm(OpBuilder &builder, ArrayRef<ParameterUpdate> updates,
                    double bound) {
    // timm divides, and adds nothing to the norm.
    bool divides = recipeOf(getOperation()).text("compat", "") == "timm";
    builder.setInsertionPoint(updates.back());
    SmallVector<std::pair<Location, Value>> gradients;
    for (ParameterUpdate update : updates)
      gradients.emplace_back(update.getLoc(), update.getGradientUse().get());
    Value squares = sumOfAllSquares(builder, gradients);
    Arithmetic scalars(builder, squares.getLoc());
    Value common = divides ? divisor(scalars, squares, bound)
                           : factor(scalars, squares, bound);
    for (ParameterUpdate update : updates) {
      Arithmetic math(builder, update.getLoc());
      OpOperand &gradient = update.getGradientUse();
      gradient.set(divides ? divide(math, gradient.get(), common)
                           : scale(math, common, gradient.get()));
      update->moveBefore(update->getBlock()->getTerminator());
      report(update, "global_norm");
    }
  }

  Value byNorm(const Arithmetic &math, Value gradient, double bound) const {
    return scale(math, factor(math, sumOfSquares(math, gradient), bound),
                 gradient);
  }

  static Value byValue(const Arithmetic &math, Value gradient, double bound) {
    Value low = math.larger(gradient, math.number(-bound, gradient));
    return math.smaller(low, math.number(bound, gradient));
  }

  /// Brock et al., https://arxiv.org/abs/2102.06171: each output's gradient is
  /// at most `value` times as long as its weights.
  static Value adaptively(const Arithmetic &math, ParameterUpdate update,
                          const RecipeObject &clip) {
    Value gradient = update.getGradientUse().get();
    RankedTensorType type = tensorType(gradient);
    Value parameter =
        readState(math.builder, math.loc, update.getParameterName(), type);
    Value norm = unitNorms(math, gradient);
    Value length = unitNorms(math, parameter);
    length =
        math.larger(length, math.number(clip.number("epsilon", 1e-3), length));
    Value bound =
        math.multiply(length, math.number(clip.number("value", 0.01), length));
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

  void report(ParameterUpdate update, StringRef type) {
    remark::passed(update.getLoc(),
                   remark::RemarkOpts::name("Clipped").category(getArgument()))
        << "gradient of " << update.getParameterName() << " bounded by "
        << type;
  }

  double epsilon = 0;
};

} // namespace
} // namespace gradus
