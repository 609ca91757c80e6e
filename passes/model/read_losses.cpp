// Reads and checks a recipe's `loss` for a model: types, outputs, labels and
// the numbers of classes; see losses.h.

#include "passes/model/losses.h"

#include "recipe/nearest.h"
#include "runtime/well_known.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace gradus;

namespace {

SmallVector<StringRef> outputNames(GraphOp model) {
  SmallVector<StringRef> names;
  for (unsigned i = 0; i < model.getResultTypes().size(); ++i)
    names.push_back(model.getOutputName(i));
  return names;
}

/// The candidates in order of likeness to `name`, nearest first.
std::string nearestFirst(StringRef name, ArrayRef<StringRef> candidates) {
  SmallVector<StringRef> sorted(candidates);
  llvm::sort(sorted);
  return llvm::join(byLikeness(name, sorted), ", ");
}

/// The number of the output that a loss is taken of. If the recipe does not
/// say: the only one, or, if the output is the loss itself, the one of that
/// name.
FailureOr<unsigned> findOutput(const Loss &loss, ArrayRef<StringRef> names) {
  std::string wanted = loss.settings.output.value_or("");
  bool said = !wanted.empty();
  if (!said && names.size() == 1)
    return 0;
  if (!said && loss.labels() == Labels::none)
    wanted = well_known::kLoss;
  if (const auto *found = llvm::find(names, wanted); found != names.end())
    return found - names.begin();
  if (!said)
    loss.error("output") << "is missing; the model has " << names.size()
                         << " outputs: " << nearestFirst(wanted, names);
  else
    loss.error("output") << "is \"" << wanted
                         << "\", but the model's outputs are: "
                         << nearestFirst(wanted, names);
  return failure();
}

/// The input that the labels come in.
std::string labelOf(const Loss &loss) {
  return loss.settings.label.value_or(well_known::kLabel);
}

/// Returns the number of samples that the model takes at once: the first size
/// of its first input that has one; 0 without one.
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
  return loss.error("output")
         << "has type " << type << ", expected a tensor of floats";
}

/// Whether an axis of the output has the classes, also if the labels are their
/// probabilities.
bool hasClassAxis(const Loss &loss) {
  return loss.labels() == Labels::classes || loss.formula.hasSoftLabels;
}

/// Whether an axis may have the classes: there are several, as many as weights,
/// and labels among the model's inputs have a matching shape.
bool mayHoldClasses(GraphOp model, Loss loss, int64_t axis) {
  loss.classAxis = axis;
  int64_t weights = loss.settings.classWeights.size();
  if (loss.classes() < 2 || (weights > 0 && weights != loss.classes()))
    return false;
  std::string label = labelOf(loss);
  for (auto [index, type] : llvm::enumerate(model.getArgumentTypes()))
    if (model.getInputName(index) == label)
      return type == loss.labelType();
  return true;
}

/// The class axis if the recipe does not give it: 1, as in PyTorch. With three
/// axes the last one is common too, for tokens, so one of the two must be
/// impossible.
FailureOr<int64_t> findClassAxis(GraphOp model, const Loss &loss) {
  ArrayRef<int64_t> shape = loss.outputType.getShape();
  if (shape.size() != 3 || !mayHoldClasses(model, loss, 2))
    return 1;
  if (!mayHoldClasses(model, loss, 1))
    return 2;
  loss.error("class_axis") << "is missing, and two axes of the output \""
                           << loss.outputName
                           << "\" may be the classes: say 1 for [" << shape[0]
                           << ", " << shape[1] << " classes, " << shape[2]
                           << "], or -1 for [" << shape[0] << ", " << shape[1]
                           << ", " << shape[2] << " classes], as of tokens";
  return failure();
}

/// Checks the class axis against the output and counts it from the front.
LogicalResult readClassAxis(GraphOp model, Loss &loss) {
  int64_t rank = loss.outputType.getRank();
  FailureOr<int64_t> read = loss.settings.classAxis
                                ? *loss.settings.classAxis
                                : findClassAxis(model, loss);
  if (failed(read))
    return failure();
  int64_t axis = *read;
  if (axis < -rank || axis >= rank)
    return loss.error("class_axis") << "is " << axis << ", but the output is "
                                    << loss.outputType << ", of rank " << rank;
  loss.classAxis = axis < 0 ? axis + rank : axis;
  if (loss.classAxis == 0 && loss.isPerSample)
    return loss.error("class_axis")
           << "is " << axis << ", the axis of the samples of the output "
           << loss.outputType << "; expected that of its classes";
  return success();
}

LogicalResult readClasses(GraphOp model, Loss &loss) {
  if (failed(readClassAxis(model, loss)))
    return failure();
  int64_t found = loss.settings.classWeights.size();
  if (found == 0 || found == loss.classes())
    return success();
  return loss.error("class_weights")
         << "has " << found << " numbers, but the output is " << loss.outputType
         << ", with " << loss.classes() << " classes along axis "
         << loss.classAxis;
}

/// Checks that there is one weight for all elements, or one for each index of
/// the last axis, as PyTorch broadcasts them.
LogicalResult checkPositiveWeights(const Loss &loss) {
  int64_t found = loss.formula.positiveWeights.size();
  int64_t expected =
      loss.outputType.getRank() == 0 ? 1 : loss.outputType.getShape().back();
  if (found <= 1 || found == expected)
    return success();
  return loss.error("pos_weight")
         << "has " << found << " numbers, expected 1 or the size of the last "
         << "axis of the output " << loss.outputType;
}

LogicalResult checkDelta(const Loss &loss) {
  if (loss.typeName() != "huber" || loss.formula.bend > 0)
    return success();
  return loss.error("delta") << "is not above 0";
}

FailureOr<Loss> readLoss(ProgramOp program, GraphOp model,
                         const recipe::Value &own) {
  Loss loss(program, own);
  if (failed(readOutput(model, loss)) ||
      (hasClassAxis(loss) && failed(readClasses(model, loss))) ||
      failed(checkPositiveWeights(loss)) || failed(checkDelta(loss)))
    return failure();
  if (loss.labels() != Labels::none)
    loss.label = labelOf(loss);
  return loss;
}

/// Checks labels that are an input of the model: the recipe must name it, and
/// its type must fit.
LogicalResult checkAgainstInputs(GraphOp model, const Loss &loss) {
  if (loss.labels() == Labels::none)
    return success();
  for (auto [index, type] : llvm::enumerate(model.getArgumentTypes())) {
    if (model.getInputName(index) != loss.label)
      continue;
    if (!loss.settings.label)
      return model.emitError("has an input named \"")
             << loss.label << "\", the name of an input that training adds; "
             << "rename the model's";
    if (type != loss.labelType())
      return loss.error("label")
             << "is \"" << loss.label << "\", an input of the model of type "
             << type << ", but the labels of \"" << loss.outputName
             << "\" have type " << loss.labelType();
  }
  return success();
}

/// Checks that losses with the same labels, such as several heads, agree on
/// their type.
LogicalResult checkAgainstEachOther(ArrayRef<Loss> losses) {
  for (size_t i = 1; i < losses.size(); ++i)
    for (const Loss &other : losses.take_front(i))
      if (!other.label.empty() && other.label == losses[i].label &&
          other.labelType() != losses[i].labelType())
        return losses[i].error("label")
               << "is \"" << other.label << "\", of type "
               << losses[i].labelType() << ", but for the output \""
               << other.outputName << "\" it is " << other.labelType()
               << "; give the losses labels of different names";
  return success();
}

/// The recipe's objects that are one loss each.
FailureOr<std::vector<recipe::Value>> termsOf(ProgramOp program) {
  recipe::Value loss = recipe::valueOf(program, lossKey());
  if (loss.choiceName() != "sum")
    return std::vector<recipe::Value>{loss};
  std::vector<recipe::Value> terms;
  loss.at("of").to(terms);
  if (!terms.empty())
    return terms;
  recipe::keyError(program, loss.where() + ".of")
      << "is empty, expected the losses to add up";
  return failure();
}

} // namespace

const recipe::Field &gradus::metricsKey() {
  using enum recipe::Kind;
  static const recipe::Field key =
      recipe::Field{"metrics", list, "[]", "what is reported beside the loss"}
          .of(recipe::Fields{
              recipe::Field{"", choice, "\"accuracy\"", "a metric"}.among(
                  {{"accuracy"},
                   {"top5"},
                   {"gradient_norm"},
                   {"learning_rate"}})});
  return key;
}

std::vector<std::string> gradus::metricsOf(ProgramOp program) {
  std::vector<std::string> metrics;
  recipe::valueOf(program, metricsKey()).to(metrics);
  return metrics;
}

bool gradus::hasLoss(ProgramOp program) {
  DictionaryAttr recipe = program.getRecipeAttr();
  Attribute loss = recipe ? recipe.get("loss") : Attribute();
  return loss && !isa<UnitAttr>(loss); // a type alone is short for its object
}

std::string gradus::lossOutput(ProgramOp program) {
  if (!hasLoss(program))
    return "";
  recipe::Value loss = recipe::valueOf(program, lossKey());
  return loss.as<LossSettings>().output.value_or("");
}

FailureOr<std::vector<Loss>> gradus::readLosses(ProgramOp program,
                                                GraphOp model) {
  FailureOr<std::vector<recipe::Value>> terms = termsOf(program);
  if (failed(terms))
    return failure();
  std::vector<Loss> losses;
  for (const recipe::Value &term : *terms) {
    FailureOr<Loss> loss = readLoss(program, model, term);
    if (failed(loss) || failed(checkAgainstInputs(model, *loss)))
      return failure();
    losses.push_back(std::move(*loss));
  }
  if (failed(checkAgainstEachOther(losses)))
    return failure();
  return losses;
}

int64_t gradus::labelClasses(ProgramOp program) {
  GraphOp model = program.getGraph(well_known::kPredict);
  if (!model || !hasLoss(program))
    return 0;
  // The recipe was checked for a derived @train; one written by hand may not
  // fit.
  ScopedDiagnosticHandler quiet(program.getContext(),
                                [](Diagnostic &) { return success(); });
  FailureOr<std::vector<Loss>> losses = readLosses(program, model);
  if (succeeded(losses))
    for (const Loss &loss : *losses)
      if (loss.label == well_known::kLabel && loss.labels() == Labels::classes)
        return loss.classes();
  return 0;
}
