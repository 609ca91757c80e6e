// What a recipe's `loss` says of a model, checked: types, outputs, labels and
// the numbers of classes; see losses.h.

#include "passes/losses.h"

using namespace mlir;
using namespace gradus;

namespace {

SmallVector<StringRef> outputNames(GraphOp model) {
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < model.getResultTypes().size(); ++i)
    names.push_back(model.getOutputName(i));
  return names;
}

/// The number of the output that a loss is taken of. If the recipe does not
/// say: the only one, or, if the output is the loss itself, the one of that
/// name.
FailureOr<unsigned> findOutput(const Loss &loss, ArrayRef<StringRef> names) {
  std::string wanted = loss.recipe.text("output", "");
  bool said = !wanted.empty();
  if (!said && names.size() == 1)
    return 0;
  if (!said && loss.labels() == Labels::none)
    wanted = "loss";
  if (const auto *found = llvm::find(names, wanted); found != names.end())
    return found - names.begin();
  if (!said)
    loss.recipe.error("output") << "is missing; the model has " << names.size()
                                << " outputs: " << nearestFirst(wanted, names);
  else
    loss.recipe.error("output")
        << "is \"" << wanted
        << "\", but the model's outputs are: " << nearestFirst(wanted, names);
  return failure();
}

/// How many samples the model takes at once: the first size of its first input
/// that has one; 0 without one.
int64_t samplesOf(GraphOp model) {
  for (Type type : model.getArgumentTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && tensor.getRank() > 0)
      return tensor.getDimSize(0);
  return 0;
}

LogicalResult readOutput(GraphOp model, Loss &loss) {
  FailureOr<unsigned> output = findOutput(loss, outputNames(model));
  if (failed(output))
    return failure();
  Type type = model.getResultTypes()[*output];
  loss.output = *output;
  loss.outputName = model.getOutputName(*output).str();
  loss.outputType = dyn_cast<RankedTensorType>(type);
  if (loss.outputType && isa<FloatType>(loss.outputType.getElementType())) {
    loss.isPerSample = loss.outputType.getRank() > 0 &&
                       loss.outputType.getDimSize(0) == samplesOf(model);
    return success();
  }
  return loss.recipe.error("output")
         << "has type " << type << ", expected a tensor of floats";
}

/// Whether classes lie along an axis of the output, also where the labels are
/// their probabilities.
bool hasClassAxis(const Loss &loss) {
  return loss.labels() == Labels::classes ||
         loss.recipe.flag("soft_labels", false);
}

/// Whether classes may lie along an axis: there are several, as many as they
/// have weights, and labels among the model's inputs have the shape.
bool mayHoldClasses(GraphOp model, Loss loss, int64_t axis) {
  loss.classAxis = axis;
  int64_t weights = loss.recipe.numbers("class_weights", {}).size();
  if (loss.classes() < 2 || (weights > 0 && weights != loss.classes()))
    return false;
  std::string label = loss.recipe.text("label", "label");
  for (auto [index, type] : llvm::enumerate(model.getArgumentTypes()))
    if (model.getInputName(index) == label)
      return type == loss.labelType();
  return true;
}

/// The class axis where the recipe does not say it: 1, as in PyTorch. Of three
/// axes the last is as common, for tokens, so there one must be out of the
/// question.
FailureOr<int64_t> findClassAxis(GraphOp model, const Loss &loss) {
  ArrayRef<int64_t> shape = loss.outputType.getShape();
  if (shape.size() != 3 || !mayHoldClasses(model, loss, 2))
    return 1;
  if (!mayHoldClasses(model, loss, 1))
    return 2;
  loss.recipe.error("class_axis")
      << "is missing, and two axes of the output \"" << loss.outputName
      << "\" may be the classes: say 1 for [" << shape[0] << ", " << shape[1]
      << " classes, " << shape[2] << "], or -1 for [" << shape[0] << ", "
      << shape[1] << ", " << shape[2] << " classes], as of tokens";
  return failure();
}

/// Checks the class axis against the output and makes it count from the front.
LogicalResult readClassAxis(GraphOp model, Loss &loss) {
  int64_t rank = loss.outputType.getRank();
  FailureOr<int64_t> read = loss.recipe.has("class_axis")
                                ? loss.recipe.integer("class_axis", 1)
                                : findClassAxis(model, loss);
  if (failed(read))
    return failure();
  int64_t axis = *read;
  if (axis < -rank || axis >= rank)
    return loss.recipe.error("class_axis")
           << "is " << axis << ", but the output is " << loss.outputType
           << ", of rank " << rank;
  loss.classAxis = axis < 0 ? axis + rank : axis;
  if (loss.classAxis == 0 && loss.isPerSample)
    return loss.recipe.error("class_axis")
           << "is " << axis << ", the axis of the samples of the output "
           << loss.outputType << "; expected that of its classes";
  return success();
}

LogicalResult readClasses(GraphOp model, Loss &loss) {
  if (failed(readClassAxis(model, loss)))
    return failure();
  loss.ignoreIndex = loss.recipe.integer("ignore_index", loss.ignoreIndex);
  loss.classWeights = loss.recipe.numbers("class_weights", {});
  int64_t found = loss.classWeights.size();
  if (found == 0 || found == loss.classes())
    return success();
  return loss.recipe.error("class_weights")
         << "has " << found << " numbers, but the output is " << loss.outputType
         << ", with " << loss.classes() << " classes along axis "
         << loss.classAxis;
}

/// One weight for all elements, or one for each of the last axis, as PyTorch
/// broadcasts them.
LogicalResult checkPositiveWeights(const Loss &loss) {
  int64_t found = loss.recipe.numbers("pos_weight", {}).size();
  int64_t expected =
      loss.outputType.getRank() == 0 ? 1 : loss.outputType.getShape().back();
  if (found <= 1 || found == expected)
    return success();
  return loss.recipe.error("pos_weight")
         << "has " << found << " numbers, expected 1 or the size of the last "
         << "axis of the output " << loss.outputType;
}

LogicalResult checkDelta(const Loss &loss) {
  double delta = loss.recipe.number("delta", 1);
  if (delta > 0)
    return success();
  return loss.recipe.error("delta") << "is not above 0";
}

LogicalResult readReduction(Loss &loss) {
  std::string name = loss.recipe.text("reduction", "mean");
  bool batchMean = loss.typeName() == "kl_div" && name == "batchmean";
  if (name != "mean" && name != "sum" && !batchMean)
    return loss.recipe.error("reduction")
           << "is \"" << name << "\", expected one of: mean, sum"
           << (loss.typeName() == "kl_div" ? ", batchmean" : "");
  loss.reduction = batchMean       ? LossReduction::batchMean
                   : name == "sum" ? LossReduction::sum
                                   : LossReduction::mean;
  return success();
}

FailureOr<Loss> readLoss(GraphOp model, RecipeObject recipe) {
  std::string type = recipe.text("type", "");
  Loss loss{.recipe = recipe, .type = findLossType(type)};
  if (!loss.type) {
    SmallVector<StringRef> known = lossTypeNames();
    known.push_back("sum");
    recipe.error("type") << "is \"" << type << "\", expected one of: "
                         << nearestFirst(type, known);
    return failure();
  }
  if (failed(readOutput(model, loss)) || failed(readReduction(loss)) ||
      (hasClassAxis(loss) && failed(readClasses(model, loss))) ||
      failed(checkPositiveWeights(loss)) || failed(checkDelta(loss)))
    return failure();
  loss.weight = recipe.number("weight", 1.0);
  if (loss.labels() != Labels::none)
    loss.label = recipe.text("label", "label");
  return loss;
}

/// An input of the model may be the labels, if the recipe says so and it fits.
LogicalResult checkAgainstInputs(GraphOp model, const Loss &loss) {
  if (loss.labels() == Labels::none)
    return success();
  for (auto [index, type] : llvm::enumerate(model.getArgumentTypes())) {
    if (model.getInputName(index) != loss.label)
      continue;
    if (!loss.recipe.has("label"))
      return model.emitError("has an input named \"")
             << loss.label << "\", the name of an input that training adds; "
             << "rename the model's";
    if (type != loss.labelType())
      return loss.recipe.error("label")
             << "is \"" << loss.label << "\", an input of the model of type "
             << type << ", but the labels of \"" << loss.outputName
             << "\" have type " << loss.labelType();
  }
  return success();
}

/// Losses may share their labels, as several heads do.
LogicalResult checkAgainstEachOther(ArrayRef<Loss> losses) {
  for (size_t i = 1; i < losses.size(); ++i)
    for (const Loss &other : losses.take_front(i))
      if (!other.label.empty() && other.label == losses[i].label &&
          other.labelType() != losses[i].labelType())
        return losses[i].recipe.error("label")
               << "is \"" << other.label << "\", of type "
               << losses[i].labelType() << ", but for the output \""
               << other.outputName << "\" it is " << other.labelType()
               << "; give the losses labels of different names";
  return success();
}

/// The recipe's objects that are one loss each.
FailureOr<std::vector<RecipeObject>> termsOf(RecipeObject recipe) {
  if (recipe.text("type", "") != "sum")
    return std::vector<RecipeObject>{recipe};
  std::vector<RecipeObject> terms = recipe.objects("of");
  if (!terms.empty())
    return terms;
  recipe.error("of") << "is empty, expected the losses to add up";
  return failure();
}

} // namespace

FailureOr<std::vector<Loss>> gradus::readLosses(GraphOp model,
                                                RecipeObject recipe) {
  FailureOr<std::vector<RecipeObject>> terms = termsOf(recipe);
  if (failed(terms))
    return failure();
  std::vector<Loss> losses;
  for (const RecipeObject &term : *terms) {
    FailureOr<Loss> loss = readLoss(model, term);
    if (failed(loss) || failed(checkAgainstInputs(model, *loss)))
      return failure();
    losses.push_back(std::move(*loss));
  }
  if (failed(checkAgainstEachOther(losses)))
    return failure();
  return losses;
}

int64_t gradus::labelClasses(ProgramOp program) {
  GraphOp model = program.getGraph("predict");
  RecipeObject recipe = recipeOf(program);
  if (!model || !recipe.has("loss"))
    return 0;
  // What @train was made of has been checked; one written by hand may not fit.
  ScopedDiagnosticHandler quiet(program.getContext(),
                                [](Diagnostic &) { return success(); });
  FailureOr<std::vector<Loss>> losses =
      readLosses(model, recipe.object("loss"));
  if (succeeded(losses))
    for (const Loss &loss : *losses)
      if (loss.label == "label" && loss.labels() == Labels::classes)
        return loss.classes();
  return 0;
}
