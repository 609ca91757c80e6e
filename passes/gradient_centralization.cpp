// Gives the gradients of weights zero mean for each output.
//
// Which axes one output's weights lie along is read off the model: dense
// weights are stored either way round. Runs before or after weight-decay, as
// the recipe says; the optimizer does not know of it.

#include "passes/arithmetic.h"
#include "passes/passes.h"
#include "passes/recipe.h"
#include "passes/train_graphs.h"
#include "passes/weight_axes.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_GRADIENTCENTRALIZATION
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// Marks updates that have been looked at: a mean is taken off once.
constexpr StringLiteral kCentered = "gradus.centered";

/// What the recipe asks for.
struct Wish {
  std::string placement;
  SmallVector<std::string> kinds;
  bool asMindSpore;

  explicit Wish(const RecipeObject &recipe) {
    RecipeObject own = recipe.object("gradient_centralization");
    asMindSpore =
        own.text("compat", recipe.text("compat", "pytorch")) == "mindspore";
    placement = own.text("placement", asMindSpore ? "after_weight_decay"
                                                  : "before_weight_decay");
    kinds = own.texts("kinds", {"convolution", "dense"});
  }
};

/// Weights that make up one output.
int64_t weightsOfAnOutput(const WeightAxes &axes, RankedTensorType type) {
  int64_t count = 1;
  for (int64_t axis : axes.inputs)
    count *= type.getDimSize(axis);
  return axes.split ? count / axes.groups : count;
}

/// Why MindSpore leaves a gradient as it is; empty where it does not.
StringRef mindSporeSkips(const WeightAxes &axes, RankedTensorType type) {
  if (axes.groups > 1)
    return "it is of a convolution in groups (compat mindspore)";
  if (type.getDimSize(1) % 16 != 0)
    return "its second axis is no multiple of 16 (compat mindspore)";
  return "";
}

struct GradientCentralizationPass
    : impl::GradientCentralizationBase<GradientCentralizationPass> {
  using Base::Base;

  void runOnOperation() override {
    RecipeObject recipe = recipeOf(getOperation());
    if (!recipe.has("gradient_centralization"))
      return;
    ErrorWatch watch(&getContext());
    Wish wish(recipe);
    if (!placement.empty() && wish.placement != placement.getValue())
      return;
    GraphOp model = getOperation().getGraph("predict");
    for (GraphOp train : trainGraphs(getOperation()))
      for (auto update : train.getBody().front().getOps<ParameterUpdate>())
        if (!update->hasAttr(kCentered))
          visit(update, model ? model : train, wish);
    if (watch.sawError())
      signalPassFailure();
  }

  void visit(ParameterUpdate update, GraphOp model, const Wish &wish) {
    RankedTensorType type = tensorType(update.getGradientUse().get());
    if (type.getRank() < 2)
      return;
    auto axes = weightAxes(model, update.getParameterName());
    if (!axes)
      return reportKept(update, "the model uses it as no weight whose outputs "
                                "have an axis of their own");
    if (!llvm::is_contained(wish.kinds, nameOf(axes->kind)))
      return reportKept(update, "`kinds` does not name what it is");
    if (weightsOfAnOutput(*axes, type) == 1)
      return reportKept(update, "each output has one weight, whose mean it is");
    if (wish.asMindSpore)
      if (StringRef reason = mindSporeSkips(*axes, type); !reason.empty())
        return reportKept(update, reason);
    center(update, *axes);
  }

  void center(ParameterUpdate update, const WeightAxes &axes) {
    OpBuilder builder(update);
    OpOperand &gradient = update.getGradientUse();
    gradient.set(centered(builder, update.getLoc(), gradient.get(), axes));
    update->setAttr(kCentered, builder.getUnitAttr());
    remark::passed(update.getLoc(),
                   remark::RemarkOpts::name("Centered").category(getArgument()))
        << (update.getParameterName() + " (" + nameOf(axes.kind) +
            "): its gradient has zero mean for each output")
               .str();
  }

  /// Inputs of a transposed convolution in groups lie in their group alone.
  static Value centered(OpBuilder &builder, Location loc, Value gradient,
                        const WeightAxes &axes) {
    ArrayRef<int64_t> shape = tensorType(gradient).getShape();
    if (!axes.split)
      return withoutMean(builder, loc, gradient, axes.inputs);
    int64_t at = *axes.split;
    SmallVector<int64_t> split(shape), inputs;
    split[at] /= axes.groups;
    split.insert(split.begin() + at, axes.groups);
    for (int64_t axis : axes.inputs)
      inputs.push_back(axis < at ? axis : axis + 1);
    Value byGroup = reshape(builder, loc, gradient, split);
    return reshape(builder, loc, withoutMean(builder, loc, byGroup, inputs),
                   shape);
  }

  static Value withoutMean(OpBuilder &builder, Location loc, Value value,
                           ArrayRef<int64_t> axes) {
    Value average = mean(builder, loc, value, axes);
    return Arithmetic(builder, loc)
        .subtract(value, broadcastAlong(builder, loc, average,
                                        tensorType(value).getShape(), axes));
  }

  void reportKept(ParameterUpdate update, StringRef reason) {
    remark::missed(update.getLoc(),
                   remark::RemarkOpts::name("Centered").category(getArgument()))
        << (update.getParameterName() + " keeps its gradient: " + reason).str();
  }
};

} // namespace
} // namespace gradus
