// Makes the graphs @train and @evaluate of the model and the recipe's loss.
//
// The first pass that reads the recipe: it joins what the user asked for with
// the model's outputs. Autodiff follows.

#include "ir/build.h"
#include "passes/passes.h"
#include "passes/recipe.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_TRAININGSTEP
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

constexpr int64_t kIgnoreIndex = -100; // PyTorch's default

/// What the recipe says about the loss, with the model's output it is taken of.
struct Loss {
  RecipeObject recipe;
  std::string type;
  unsigned output; // its number among the model's outputs
  RankedTensorType logits;
  int64_t classAxis;   // 0 <= classAxis < rank; cross entropy only
  int64_t ignoreIndex; // cross entropy only

  bool isCrossEntropy() const { return type == "softmax_cross_entropy"; }
};

/// The shape without one axis: of labels that pick one class along it.
RankedTensorType classLabels(RankedTensorType logits, int64_t classAxis) {
  SmallVector<int64_t> shape(logits.getShape());
  shape.erase(shape.begin() + classAxis);
  return RankedTensorType::get(shape,
                               IntegerType::get(logits.getContext(), 64));
}

RankedTensorType labelType(const Loss &loss) {
  return loss.isCrossEntropy() ? classLabels(loss.logits, loss.classAxis)
                               : loss.logits;
}

/// The number of the output that the loss is taken of.
FailureOr<unsigned> findOutput(GraphOp model, RecipeObject loss) {
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < model.getResultTypes().size(); ++i)
    names.push_back(model.getOutputName(i));
  std::string wanted = loss.text("output", "");
  if (wanted.empty() && names.size() == 1)
    return 0;
  for (auto [index, name] : llvm::enumerate(names))
    if (name == wanted)
      return index;
  if (wanted.empty())
    loss.error("output") << "is missing; the model has " << names.size()
                         << " outputs: " << nearestFirst("", names);
  else
    loss.error("output") << "is \"" << wanted
                         << "\", but the model's outputs are: "
                         << nearestFirst(wanted, names);
  return failure();
}

/// Checks the class axis against the logits and makes it count from the front.
LogicalResult findClassAxis(Loss &loss) {
  int64_t rank = loss.logits.getRank();
  int64_t axis = loss.recipe.integer("class_axis", 1);
  if (axis < -rank || axis >= rank)
    return loss.recipe.error("class_axis")
           << "is " << axis << ", but the output is " << loss.logits
           << ", of rank " << rank;
  loss.classAxis = axis < 0 ? axis + rank : axis;
  return success();
}

FailureOr<Loss> readLoss(GraphOp model, RecipeObject recipe) {
  Loss loss{recipe, recipe.text("type", ""), 0, {}, 0, 0};
  if (loss.type != "softmax_cross_entropy" && loss.type != "mse") {
    recipe.error("type") << "is \"" << loss.type << "\", expected one of: "
                         << nearestFirst(loss.type,
                                         {"softmax_cross_entropy", "mse"});
    return failure();
  }
  FailureOr<unsigned> output = findOutput(model, recipe);
  if (failed(output))
    return failure();
  loss.output = *output;
  loss.logits = dyn_cast<RankedTensorType>(model.getResultTypes()[*output]);
  if (!loss.logits || !isa<FloatType>(loss.logits.getElementType())) {
    recipe.error("output") << "has type " << model.getResultTypes()[*output]
                           << ", expected a tensor of floats";
    return failure();
  }
  loss.ignoreIndex = recipe.integer("ignore_index", kIgnoreIndex);
  if (loss.isCrossEntropy() && failed(findClassAxis(loss)))
    return failure();
  return loss;
}

/// Names what the pass adds, so that errors and profiles can.
Location named(GraphOp graph, StringRef name) {
  return NameLoc::get(StringAttr::get(graph.getContext(), name),
                      graph.getLoc());
}

/// Whether the sample of each element of `type` is one of the first `count`.
Value realSamples(OpBuilder &builder, Location loc, RankedTensorType type,
                  Value count) {
  auto indices = type.clone(builder.getI64Type());
  Value sample = iota(builder, loc, indices, /*axis=*/0);
  Value limit = broadcastScalar(builder, loc, count, type.getShape());
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, sample,
                               limit);
}

/// Makes padding harmless: ignored labels, or targets that are met already.
Value maskLabels(OpBuilder &builder, Location loc, const Loss &loss,
                 Value output, Value label, Value count) {
  Value real = realSamples(builder, loc, tensorType(label), count);
  Value padding = loss.isCrossEntropy()
                      ? splatLike(builder, label, loss.ignoreIndex)
                      : output;
  return arith::SelectOp::create(builder, loc, real, label, padding);
}

Value buildLoss(OpBuilder &builder, Location loc, const Loss &loss,
                Value output, Value label) {
  auto scalar = RankedTensorType::get({}, loss.logits.getElementType());
  if (!loss.isCrossEntropy())
    return MeanSquaredErrorOp::create(builder, loc, scalar, output, label);
  return SoftmaxCrossEntropyOp::create(
      builder, loc, scalar, output, label,
      builder.getI64IntegerAttr(loss.classAxis),
      builder.getI64IntegerAttr(loss.ignoreIndex),
      builder.getF64FloatAttr(loss.recipe.number("label_smoothing", 0.0)));
}

Value weigh(OpBuilder &builder, Location loc, const Loss &loss, Value value) {
  double weight = loss.recipe.number("weight", 1.0);
  if (weight == 1.0)
    return value;
  return arith::MulFOp::create(builder, loc, value,
                               splatLike(builder, value, weight));
}

/// A mean over all samples of the batch, made one over the first `count`.
Value meanOverReal(OpBuilder &builder, Location loc, const Loss &loss,
                   Value mean, Value count) {
  Value real = convert(builder, loc, count, loss.logits.getElementType());
  Value all = splatLike(builder, mean, loss.logits.getDimSize(0));
  Value factor = arith::DivFOp::create(builder, loc, all, real);
  return arith::MulFOp::create(builder, loc, mean, factor);
}

struct TrainingStepPass : impl::TrainingStepBase<TrainingStepPass> {
  using Base::Base;

  void runOnOperation() override {
    ProgramOp program = getOperation();
    ErrorWatch watch(&getContext());
    RecipeObject recipe = recipeOf(program);
    if (!recipe.has("loss") || program.getGraph("train"))
      return;
    GraphOp model = program.getGraph("predict");
    if (!model) {
      program.emitError("has no graph @predict to train");
      return signalPassFailure();
    }
    FailureOr<Loss> loss = readLoss(model, recipe.object("loss"));
    if (failed(loss) || failed(checkInputs(model)) ||
        failed(readMetrics(recipe, *loss)))
      return signalPassFailure();
    GraphOp train = cloneModel(model, "train");
    endInLoss(train, *loss, /*padded=*/false);
    endInLoss(cloneModel(model, "evaluate"), *loss, /*padded=*/true);
    if (watch.sawError())
      return signalPassFailure();
    report(train, *loss);
  }

  /// The names that the pass adds must be free.
  LogicalResult checkInputs(GraphOp model) {
    for (unsigned i = 0; i < model.getArgumentTypes().size(); ++i)
      if (StringRef name = model.getInputName(i);
          name == "label" || name == "count")
        return model.emitError("has an input named \"")
               << name << "\", the name of an input that training adds; rename "
               << "the model's";
    return success();
  }

  LogicalResult readMetrics(RecipeObject recipe, const Loss &loss) {
    metrics = recipe.texts("metrics", {});
    for (const std::string &metric : metrics) {
      if (metric != "accuracy")
        return recipe.error("metrics")
               << "has \"" << metric << "\", expected: accuracy";
      if (!loss.isCrossEntropy())
        return recipe.error("metrics")
               << "has accuracy, which needs classes, but loss.type is "
               << loss.type;
    }
    return success();
  }

  GraphOp cloneModel(GraphOp model, StringRef name) {
    OpBuilder builder(getOperation().getBody().front().getParentOp());
    builder.setInsertionPointToEnd(&getOperation().getBody().front());
    auto graph = cast<GraphOp>(builder.clone(*model));
    graph.setSymName(name);
    return graph;
  }

  /// Replaces the graph's outputs by the loss and the metrics.
  void endInLoss(GraphOp graph, const Loss &loss, bool padded) {
    Value output = graph.getReturned()[loss.output];
    Value label =
        graph.addInput("label", labelType(loss), named(graph, "label"));
    OpBuilder builder(graph.getBody().front().getTerminator());
    Location loc = named(graph, "loss");
    Value count;
    if (padded) {
      auto type = RankedTensorType::get({}, builder.getI64Type());
      count = graph.addInput("count", type, named(graph, "count"));
      if (tensorType(label).getRank() > 0)
        label = maskLabels(builder, loc, loss, output, label, count);
    }
    Value value = buildLoss(builder, loc, loss, output, label);
    if (padded && !loss.isCrossEntropy() && loss.logits.getRank() > 0)
      value = meanOverReal(builder, loc, loss, value, count);
    dropOutputs(graph);
    graph.addOutput("loss", weigh(builder, loc, loss, value));
    for (const std::string &metric : metrics)
      graph.addOutput(metric, buildAccuracy(builder, named(graph, metric), loss,
                                            output, label));
  }

  static Value buildAccuracy(OpBuilder &builder, Location loc, const Loss &loss,
                             Value output, Value label) {
    return AccuracyOp::create(
        builder, loc, RankedTensorType::get({}, builder.getF32Type()), output,
        label, builder.getI64IntegerAttr(loss.classAxis),
        builder.getI64IntegerAttr(loss.ignoreIndex));
  }

  /// Forgets the model's outputs; what only they needed dies in the clean-up.
  static void dropOutputs(GraphOp graph) {
    graph.getBody().front().getTerminator()->setOperands({});
    Builder builder(graph.getContext());
    graph.setFunctionType(
        builder.getFunctionType(graph.getArgumentTypes(), {}));
    graph.setOutputNamesAttr(builder.getArrayAttr({}));
    graph.removeResAttrsAttr();
  }

  void report(GraphOp train, const Loss &loss) {
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("TrainingStep").category(getArgument()))
        << "@train and @evaluate end in " << loss.type;
  }

  SmallVector<std::string> metrics;
};

} // namespace
} // namespace gradus
