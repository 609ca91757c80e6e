// Reads the recipe first: it names a model's dimensions and parameters.

#include "frontends/compiler/program.h"

#include "frontends/compiler/carried_program.h"
#include "frontends/compiler/input_preparation.h"
#include "frontends/compiler/name_proposal.h"
#include "frontends/compiler/parameter_patterns.h"
#include "frontends/onnx/import.h"
#include "frontends/onnx/inventory.h"
#include "frontends/recipe/flags.h"
#include "ir/evaluator/values_in_place.h"
#include "messages/error_kind.h"
#include "messages/message.h"
#include "messages/printable.h"
#include "messages/shell_word.h"
#include "runtime/float_conversion.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"

#include <map>
#include <memory>
#include <set>

using namespace mlir;

namespace gradus::compiler {
namespace {

/// Two values for one dimension (`--dim batch=32 --dim batch=64`) are an error.
absl::Status checkDims(const std::vector<std::string> &dims) {
  std::map<llvm::StringRef, std::string> given;
  for (const std::string &dim : dims) {
    auto [other, isNew] =
        given.try_emplace(llvm::StringRef(dim).split('=').first, dim);
    if (!isNew)
      return invalid("--dim ", dim, ": is given a size already, by --dim ",
                     other->second);
  }
  return absl::OkStatus();
}

//===-- models ------------------------------------------------------------===//

/// Whether the text has `dense_resource<__elided__>` in place of values.
bool lacksWeights(ModuleOp module) {
  WalkResult walked = module.walk([](Operation *op) {
    return op->getAttrDictionary().walk([](DenseResourceElementsAttr value) {
      return value.getRawHandle().getBlob() ? WalkResult::advance()
                                            : WalkResult::interrupt();
    });
  });
  return walked.wasInterrupted();
}

llvm::StringRef textOf(const ModelBytes &model) {
  return {reinterpret_cast<const char *>(model.bytes.data()),
          model.bytes.size()};
}

absl::StatusOr<OwningOpRef<ModuleOp>>
readText(const Request &request, DictionaryAttr recipe, MLIRContext &context) {
  if (!request.dims.empty())
    return invalid("--dim ", request.dims.front(), ": all sizes of ",
                   request.model, " are fixed");
  ParserConfig config(&context);
  OwningOpRef<ModuleOp> module =
      request.bytes // The parser wants a zero behind the text.
          ? parseSourceString<ModuleOp>(textOf(*request.bytes).str(), config,
                                        request.model)
          : parseSourceFile<ModuleOp>(request.model, config);
  if (!module)
    return invalid(request.model, ": is not a valid program");
  if (lacksWeights(*module))
    return invalid(request.model, ": some of its weights were left out when it "
                                  "was printed; print it with --print-weights");
  for (ProgramOp program : module->getOps<ProgramOp>())
    if (saysRecipe(request) || !program.getRecipeAttr())
      program.setRecipeAttr(recipe);
  return module;
}

ImportOptions importOptions(const Request &request,
                            const recipe::Recipe &recipe) {
  ImportOptions options;
  options.dims = recipe.dims;
  options.trainable = recipe.trainable;
  options.fixed = recipe.fixed;
  options.initialize = request.weights.rule;
  if (!request.weights.values.empty() && request.weights.rule.empty())
    options.initialize = "zeros"; // setWeights refuses states that stay so.
  return options;
}

absl::StatusOr<OwningOpRef<ModuleOp>> readOnnx(const Request &request,
                                               const recipe::Recipe &recipe,
                                               DictionaryAttr attribute,
                                               MLIRContext &context) {
  ImportOptions options = importOptions(request, recipe);
  options.recipe = attribute;
  if (request.bytes) {
    options.bytes = textOf(*request.bytes);
    options.hasFolder = request.bytes->hasFolder;
    for (const auto &[name, bytes] : request.bytes->dataFiles)
      options.dataFiles[name] = {reinterpret_cast<const char *>(bytes.data()),
                                 bytes.size()};
  }
  return importOnnx(request.model, options, context);
}

absl::StatusOr<OwningOpRef<ModuleOp>> readModel(const Request &request,
                                                const recipe::Recipe &recipe,
                                                MLIRContext &context) {
  DictionaryAttr attribute = recipe::toAttribute(recipe, context);
  if (!request.bytes && !llvm::sys::fs::exists(request.model))
    return invalid(request.model, ": there is no such file");
  if (isOnnx(request))
    return readOnnx(request, recipe, attribute, context);
  if (isText(request))
    return readText(request, attribute, context);
  return invalid(request.model,
                 ": is neither a model (.onnx, .mlir) nor an artifact");
}

//===-- weights -----------------------------------------------------------===//

std::string typeName(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  for (int64_t size : type.getShape())
    stream << size << "x";
  stream << type.getElementType();
  return text;
}

std::string typeName(const Weight &weight) {
  std::string text;
  for (int64_t size : weight.shape)
    text += std::to_string(size) + "x";
  return text + weight.dtype;
}

std::string elementName(RankedTensorType type) {
  return typeName(RankedTensorType::get({}, type.getElementType()));
}

/// Whether a weight has another floating-point type than the state.
bool converts(RankedTensorType type, const Weight &weight) {
  return elementName(type) != weight.dtype &&
         type.getShape() == ArrayRef(weight.shape) &&
         runtime::areFloats(weight.dtype, elementName(type));
}

/// Converts a weight's values to the type of the state.
std::vector<char> converted(RankedTensorType type, const Weight &weight) {
  std::vector<char> bytes(type.getNumElements() *
                          type.getElementTypeBitWidth() / 8);
  runtime::convertFloats(weight.dtype, elementName(type), weight.bytes.data(),
                         bytes.data(), type.getNumElements());
  return bytes;
}

ArrayRef<char> bytesOf(const Weight &weight) {
  return {reinterpret_cast<const char *>(weight.bytes.data()),
          weight.bytes.size()};
}

/// The number of ops that use each holder of values.
using Holders = llvm::DenseMap<const void *, int>;

/// Counts the holders in the module that contains the program.
Holders holdersAround(ProgramOp program) {
  Holders holders;
  program->getParentOp()->walk([&](Operation *op) {
    op->getAttrDictionary().walk(
        [&](ElementsAttr values) { ++holders[holderOf(values)]; });
  });
  return holders;
}

/// Replaces a state's values and frees the former ones if no other op uses
/// them.
void replaceValues(StateOp state, ElementsAttr values, Holders &holders) {
  ElementsAttr former = state.getValueAttr();
  state.setValueAttr(values);
  ++holders[holderOf(values)];
  if (--holders[holderOf(former)] == 0)
    giveBackValues(former);
}

/// Sets the state of a weight; returns what is wrong with it, or nothing.
std::string setWeight(ProgramOp program, const Weight &weight,
                      Holders &holders) {
  StateOp state = program.getState(weight.name);
  if (!state)
    return message("the model has no state \"", weight.name, "\"");
  auto type = cast<RankedTensorType>(state.getType());
  ElementsAttr values;
  if (converts(type, weight)) {
    auto bytes = std::make_shared<std::vector<char>>(converted(type, weight));
    values = valuesInPlace(type, *bytes, weight.name,
                           [bytes] {}); // keeps them alive
  } else if (typeName(type) == typeName(weight)) {
    values = valuesInPlace(type, bytesOf(weight), weight.name,
                           [] {}); // the caller owns them
  } else {
    return message("\"", weight.name, "\" is ", typeName(weight),
                   "; the model's is ", typeName(type));
  }
  replaceValues(state, values, holders);
  state.removeInitAttr();
  return "";
}

std::string fewNames(const std::vector<std::string> &names) {
  constexpr size_t kFew = 6;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kFew); ++i)
    text += message(i ? ", " : "", "\"", names[i], "\"");
  if (names.size() > kFew)
    text += message(" and ", names.size() - kFew, " more");
  return text;
}

/// The model's states that the file has no values for: those that keep the
/// model's values, and those without any because their data file is missing,
/// which an initializer fills or nothing does.
struct Untouched {
  std::vector<std::string> kept, ruled, empty;
};

Untouched untouched(ProgramOp program, const Request &request) {
  std::set<std::string> given;
  for (const Weight &weight : request.weights.values)
    given.insert(weight.name);
  Untouched result;
  for (StateOp state : program.getOps<StateOp>())
    if (std::string name = state.getSymName().str(); !given.count(name)) {
      bool isRuled = !request.weights.rule.empty();
      (state.getValueAttr() ? result.kept
       : isRuled            ? result.ruled
                            : result.empty)
          .push_back(name);
    }
  return result;
}

/// Warns that weights of other types were converted.
void noteConversions(ProgramOp program, const Request &request) {
  std::set<std::string> others;
  for (const Weight &weight : request.weights.values)
    if (StateOp state = program.getState(weight.name))
      if (auto type = cast<RankedTensorType>(state.getType());
          converts(type, weight))
        others.insert(message(weight.dtype, " to ", elementName(type)));
  if (!others.empty())
    mlir::emitWarning(UnknownLoc::get(program.getContext()))
        << request.weights.file << ": weights are converted from "
        << joined(others);
}

/// Warns about the initial values of states that the file does not have.
void noteStarts(ProgramOp program, const Request &request,
                const Untouched &left) {
  for (const auto &[names, start] :
       {std::pair(&left.kept, std::string("as in the model")),
        {&left.ruled, "by --initialize " + request.weights.rule}})
    if (!names->empty())
      mlir::emitWarning(UnknownLoc::get(program.getContext()))
          << request.weights.file << " has no values for " << fewNames(*names)
          << "; they start " << start;
}

/// The name in the weights file, to which rules apply.
llvm::StringRef ownName(const Weight &weight) {
  return weight.ownName.empty() ? weight.name : weight.ownName;
}

llvm::StringRef layerOf(llvm::StringRef name) {
  return name.take_front(name.rfind('.') + 1);
}

/// Whether a weight of the same layer is used, by the names of the file or of
/// the model.
bool isBesideUsed(ProgramOp program, const Request &request,
                  const Weight &weight) {
  return llvm::any_of(request.weights.values,
                      [&](const Weight &other) {
                        return program.getState(other.name) &&
                               ownName(other).starts_with(
                                   layerOf(ownName(weight)));
                      }) ||
         llvm::any_of(program.getOps<StateOp>(), [&](StateOp state) {
           return state.getSymName().starts_with(layerOf(weight.name));
         });
}

/// Returns a rule that leaves out the first weight that is not a state, with
/// its whole layer if the model has nothing of it. The first matching rule
/// counts.
std::string ruleToLeaveOut(ProgramOp program, const Request &request) {
  for (const Weight &weight : request.weights.values) {
    if (program.getState(weight.name))
      continue;
    std::string name = ownName(weight).str();
    if (!isBesideUsed(program, request, weight))
      name = layerOf(name).str() + "*";
    return message("--weights-map ", quotedForShell(name + "="),
                   weight.ownName.empty() ? "" : " in front of the others");
  }
  return "";
}

/// Advises on weights that are not states: rules that rename them, or else
/// rules that leave them out; empty if all are states.
std::string adviceOnNames(ProgramOp program, const Request &request) {
  std::vector<NamedShape> file, model;
  std::set<llvm::StringRef> given;
  std::set<std::string> placed; // no rule may come before them
  for (const Weight &weight : request.weights.values) {
    given.insert(weight.name);
    if (!program.getState(weight.name))
      file.push_back({ownName(weight).str(), weight.shape});
    else if (ownName(weight) == weight.name)
      placed.insert(weight.name);
  }
  for (StateOp state : program.getOps<StateOp>())
    if (ArrayRef<int64_t> shape =
            cast<RankedTensorType>(state.getType()).getShape();
        !given.count(state.getSymName()))
      model.push_back({state.getSymName().str(), shape.vec()});
  std::string rules =
      adviceOf(proposeNames(file, model, placed), "--weights-map");
  std::string left = rules.empty() ? ruleToLeaveOut(program, request) : "";
  return left.empty() ? rules
                      : "rules with nothing behind \"=\" leave tensors "
                        "out, such as " +
                            left;
}

/// Sets all weights. Reports all that do not fit at once, and what the model
/// has instead.
absl::Status setWeights(ProgramOp program, const Request &request) {
  constexpr size_t kFew = 6;
  Untouched left = untouched(program, request);
  Holders holders = holdersAround(program);
  std::vector<std::string> problems;
  for (const Weight &weight : request.weights.values)
    if (std::string problem = setWeight(program, weight, holders);
        !problem.empty())
      problems.push_back(problem);
  if (problems.size() > kFew) {
    size_t more = problems.size() - kFew;
    problems.resize(kFew);
    problems.push_back(message("and ", more, " more tensors that do not fit"));
  }
  if (!left.empty.empty())
    problems.push_back("it has no values for " + fewNames(left.empty) +
                       ", whose data file is missing");
  if (!problems.empty() && !left.kept.empty())
    problems.push_back("it has no values for the model's " +
                       fewNames(left.kept));
  if (std::string advice = adviceOnNames(program, request);
      !problems.empty() && !advice.empty())
    problems.push_back(advice);
  for (std::string &problem : problems) // A name may hold a line break.
    problem = printable(problem);
  if (!problems.empty())
    return withKind(
        invalid(request.weights.file, ": ", joined(problems, "\n  ")),
        ErrorKind::weights);
  noteConversions(program, request);
  noteStarts(program, request, left);
  return absl::OkStatus();
}

/// Returns the recipe in a program's text, checked as any other, or `given` if
/// it has none.
absl::StatusOr<recipe::Recipe> settleRecipe(const Request &request,
                                            const recipe::Recipe &given,
                                            ModuleOp module) {
  absl::StatusOr<recipe::Recipe> recipe = given;
  if (!isText(request) || saysRecipe(request))
    return recipe;
  for (ProgramOp program : module.getOps<ProgramOp>()) {
    if (!program.getRecipeAttr())
      continue;
    recipe = recipe::read(recipe::toJson(program.getRecipeAttr()),
                          request.model + ": the recipe of its program");
    if (!recipe.ok())
      return recipe;
    program.setRecipeAttr(recipe::toAttribute(*recipe, *module.getContext()));
  }
  return recipe;
}

} // namespace

bool isOnnx(const Request &request) {
  return request.bytes ? !request.bytes->isText
                       : llvm::StringRef(request.model).ends_with(".onnx");
}

bool isText(const Request &request) {
  return request.bytes ? request.bytes->isText
                       : llvm::StringRef(request.model).ends_with(".mlir");
}

bool saysRecipe(const Request &request) {
  return !request.recipe.file.empty() || !request.recipe.text.empty() ||
         !request.recipe.overrides.empty() || !request.recipe.flags.empty() ||
         llvm::any_of(request.recipe.keyFlags,
                      [](const auto &flag) { return !flag.second.empty(); }) ||
         !request.dims.empty() || !request.recipe.memoryLimit.empty();
}

void addMemoryLimit(const Request &request, recipe::Overrides &overrides) {
  const std::string &limit = request.recipe.memoryLimit;
  if (!limit.empty())
    overrides.push_back(
        {"memory_limit=\"" + limit + "\"", "--memory-limit " + limit});
}

absl::StatusOr<recipe::Recipe> readRecipe(const Request &request) {
  if (absl::Status status = checkDims(request.dims); !status.ok())
    return status;
  recipe::Overrides overrides;
  for (const auto &[flag, value] : request.recipe.keyFlags) {
    if (value.empty())
      continue;
    GRADUS_ASSIGN_OR_RETURN(auto settings, recipe::settingsOf(flag, value));
    overrides.insert(overrides.end(), settings.begin(), settings.end());
  }
  for (const auto &[setting, flag] : request.recipe.flags)
    overrides.push_back({setting, flag});
  // Flags come first, so that a single key may override a part of one.
  overrides.insert(overrides.end(), request.recipe.overrides.begin(),
                   request.recipe.overrides.end());
  for (const std::string &dim : request.dims)
    overrides.push_back({"inputs.dims." + dim, "--dim " + dim});
  addMemoryLimit(request, overrides);
  if (!request.recipe.text.empty())
    return recipe::read(request.recipe.text, "recipe", overrides);
  return recipe::readFile(request.recipe.file, overrides);
}

absl::StatusOr<Program> readProgram(const Request &request,
                                    MLIRContext &context) {
  if (request.carried)
    return readCarriedProgram(request, context);
  absl::StatusOr<recipe::Recipe> recipe = readRecipe(request);
  if (!recipe.ok())
    return recipe.status();
  auto module = readModel(request, *recipe, context);
  if (!module.ok())
    return module.status();
  recipe = settleRecipe(request, *recipe, **module);
  if (!recipe.ok())
    return recipe.status();
  if (isText(request))
    for (ProgramOp program : (*module)->getOps<ProgramOp>())
      GRADUS_RETURN_IF_ERROR(checkParameterPatterns(program, *recipe));
  for (const std::string &remark : recipe->remarks)
    mlir::emitWarning(UnknownLoc::get(&context)) << "recipe: " << remark;
  for (ProgramOp program : (*module)->getOps<ProgramOp>())
    if (!request.weights.values.empty())
      if (absl::Status status = setWeights(program, request); !status.ok())
        return status;
  for (ProgramOp program : (*module)->getOps<ProgramOp>())
    GRADUS_RETURN_IF_ERROR(checkInputPreparation(program, recipe->json));
  return Program{*std::move(module), recipe->json};
}

/// Adds the facts that do not need the model's sizes.
static void addWithoutSizes(const ModelInventory &inventory, ModelInfo &info) {
  info.unknownSizes = inventory.unknownSizes;
  info.inputs = inventory.inputs;
  info.outputs = inventory.outputs;
  info.unsupported = inventory.unsupported;
  info.parameterCount = inventory.parameters.size();
  info.parameterElements = inventory.parameterElements;
}

absl::Status addInventory(const Request &request, ModelInfo &info) {
  if (!isOnnx(request))
    return absl::OkStatus();
  absl::StatusOr<recipe::Recipe> recipe = readRecipe(request);
  if (!recipe.ok())
    return recipe.status();
  auto inventory =
      inventoryOfOnnx(request.model, importOptions(request, *recipe));
  if (!inventory.ok())
    return inventory.status();
  info.parameters = inventory->parameters;
  info.fixed = inventory->fixed;
  info.missing = inventory->missing;
  if (!inventory->unknownSizes.empty())
    addWithoutSizes(*inventory, info);
  if (!info.unsupported.empty() || !info.unknownSizes.empty())
    info.warnings =
        inventory->warnings; // Otherwise the importer has reported them.
  return absl::OkStatus();
}

} // namespace gradus::compiler
