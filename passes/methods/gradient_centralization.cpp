// Makes the mean of a weight's gradient zero for each output.
//
// The model tells which axes belong to one output: dense weights may be
// transposed. Runs before or after weight-decay, as the recipe says; the
// optimizer need not know.

#include "passes/methods/gradient_centralization.h"

#include "ir/arithmetic.h"
#include "passes/methods/pass_option.h"
#include "passes/passes.h"
#include "passes/train_graphs.h"
#include "runtime/well_known.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_GRADIENTCENTRALIZATION
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// Marks updates that were processed, so that no mean is subtracted twice.
constexpr StringLiteral kCentered = "gradus.centered";

/// The number of weights of one output.
int64_t weightsOfAnOutput(const WeightAxes &axes, RankedTensorType type) {
  int64_t count = 1;
  for (int64_t axis : axes.inputs)
    count *= type.getDimSize(axis);
  return axes.split ? count / axes.groups : count;
}

/// The reason to leave a gradient unchanged; empty if there is none.
std::string reasonToKeep(const CentralizationSettings &settings,
                         const WeightAxes &axes, RankedTensorType type) {
  if (!llvm::is_contained(settings.kinds, axes.kind))
    return "`kinds` does not name what it is";
  if (weightsOfAnOutput(axes, type) == 1)
    return "each output has one weight, whose mean it is";
  if (axes.groups > 1 && !settings.grouped)
    return "it is of a convolution in groups, and `grouped` is false";
  if (type.getDimSize(1) % settings.multiple != 0)
    return "its second axis is no multiple of " +
           std::to_string(settings.multiple) + " (`second_axis_multiple`)";
  return "";
}

recipe::Field centralizationKey() {
  using enum recipe::Kind;
  using recipe::Field, recipe::Keys;
  using Own = CentralizationSettings;
  const Field kind = Field{"", choice, "\"dense\"", "a kind of weight"}.among(
      {{nameOf(WeightKind::convolution)},
       {nameOf(WeightKind::dense)},
       {nameOf(WeightKind::embedding)}});
  const Keys<Own> keys = {
      Field{"placement", choice, "\"before_weight_decay\"",
            "before_weight_decay centers what the loss says, "
            "after_weight_decay the decay too"}
          .among({{"before_weight_decay"}, {"after_weight_decay"}})
          .under({"mindspore"}, "\"after_weight_decay\"")
          .into(&Own::placement),
      Field{"kinds", list, R"(["convolution", "dense"])",
            "weights of which layers"}
          .of(recipe::Fields{kind})
          .into(&Own::kinds),
      Field{"grouped", boolean, "true",
            "whether weights of convolutions in groups are among them"}
          .under({"mindspore"}, "false")
          .into(&Own::grouped),
      Field{"second_axis_multiple", integer, "1",
            "weights whose second axis is no multiple of this are left as they "
            "are"}
          .from(1)
          .under({"mindspore"}, "16")
          .into(&Own::multiple)};
  recipe::Fields all(keys.begin(), keys.end());
  all.push_back(recipe::compat("instead of the recipe's"));
  return Field{"gradient_centralization", object, "null",
               "gives the gradients of weights zero mean for each output"}
      .of(all)
      .switched()
      .flagged();
}

struct GradientCentralizationPass
    : impl::GradientCentralizationBase<GradientCentralizationPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!at.empty() &&
        failed(verifyOption(getOperation(), getArgument(), "at", at,
                            {"before_weight_decay", "after_weight_decay"})))
      return signalPassFailure();
    auto settings = gradientCentralization().of(getOperation());
    if (!settings || !isItsTurn(settings->placement))
      return;
    GraphOp model = getOperation().getGraph(well_known::kPredict);
    for (GraphOp train : trainGraphs(getOperation()))
      for (auto update : train.getBody().front().getOps<ParameterUpdate>())
        if (!update->hasAttr(kCentered))
          visit(update, model ? model : train, *settings);
  }

  /// Whether this instance of the pass should run: the pipeline has two.
  bool isItsTurn(CentralizationSettings::Placement wanted) {
    bool isAfter =
        wanted == CentralizationSettings::Placement::afterWeightDecay;
    return at.empty() ||
           at == (isAfter ? "after_weight_decay" : "before_weight_decay");
  }

  void visit(ParameterUpdate update, GraphOp model,
             const CentralizationSettings &settings) {
    RankedTensorType type = tensorType(update.getGradientUse().get());
    if (type.getRank() < 2)
      return;
    auto axes = weightAxes(model, update.getParameterName());
    if (!axes)
      return reportKept(update, "the model uses it as no weight whose outputs "
                                "have an axis of their own");
    if (std::string reason = reasonToKeep(settings, *axes, type);
        !reason.empty())
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

  /// Subtracts the mean of each output, which in a transposed convolution with
  /// groups has only inputs of its group.
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

const recipe::Method<CentralizationSettings> &gradientCentralization() {
  static const recipe::Method<CentralizationSettings> method{
      centralizationKey()};
  return method;
}

} // namespace gradus
