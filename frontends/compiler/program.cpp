// Recipe first: it says which dimensions and parameters a model has.

#include "frontends/compiler/program.h"

#include "frontends/message.h"
#include "frontends/onnx/import.h"
#include "frontends/recipe/recipe.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"

using namespace mlir;

namespace gradus::compiler {
namespace {

absl::StatusOr<recipe::Recipe> readRecipe(const Request &request) {
  recipe::Overrides overrides(request.overrides.begin(),
                              request.overrides.end());
  for (const std::string &dim : request.dims)
    overrides.push_back({"inputs.dims." + dim, "--dim " + dim});
  if (!request.memoryLimit.empty())
    overrides.push_back({"memory_limit=\"" + request.memoryLimit + "\"",
                         "--memory-limit " + request.memoryLimit});
  if (!request.recipeText.empty())
    return recipe::read(request.recipeText, "recipe", overrides);
  return recipe::readFile(request.recipe, overrides);
}

bool saysRecipe(const Request &request) {
  return !request.recipe.empty() || !request.recipeText.empty() ||
         !request.overrides.empty() || !request.dims.empty() ||
         !request.memoryLimit.empty();
}

//===-- models ------------------------------------------------------------===//

/// Whether values stand in the text as `dense_resource<__elided__>` only.
bool lacksWeights(ModuleOp module) {
  WalkResult walked = module.walk([](Operation *op) {
    return op->getAttrDictionary().walk([](DenseResourceElementsAttr value) {
      return value.getRawHandle().getBlob() ? WalkResult::advance()
                                            : WalkResult::interrupt();
    });
  });
  return walked.wasInterrupted();
}

absl::StatusOr<OwningOpRef<ModuleOp>>
readText(const Request &request, DictionaryAttr recipe, MLIRContext &context) {
  auto module =
      parseSourceFile<ModuleOp>(request.model, ParserConfig(&context));
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

absl::StatusOr<OwningOpRef<ModuleOp>> readOnnx(const Request &request,
                                               const recipe::Recipe &recipe,
                                               DictionaryAttr attribute,
                                               MLIRContext &context) {
  ImportOptions options;
  options.dims = recipe.dims;
  options.trainable = recipe.trainable;
  options.fixed = recipe.fixed;
  options.initialize = request.initialize;
  options.recipe = attribute;
  return importOnnx(request.model, options, context);
}

absl::StatusOr<OwningOpRef<ModuleOp>> readModel(const Request &request,
                                                const recipe::Recipe &recipe,
                                                MLIRContext &context) {
  DictionaryAttr attribute = recipe::toAttribute(recipe, context);
  llvm::StringRef path = request.model;
  if (!llvm::sys::fs::exists(path))
    return invalid(request.model, ": there is no such file");
  if (path.ends_with(".onnx"))
    return readOnnx(request, recipe, attribute, context);
  if (path.ends_with(".mlir"))
    return readText(request, attribute, context);
  return invalid(request.model,
                 ": expected a model that ends in .onnx or .mlir");
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

absl::Status setWeight(ProgramOp program, const Weight &weight,
                       const std::string &file) {
  StateOp state = program.getState(weight.name);
  if (!state)
    return invalid(file, ": the model has no state '", weight.name, "'");
  auto type = cast<RankedTensorType>(state.getType());
  if (typeName(type) != typeName(weight))
    return invalid(file, ": '", weight.name, "' is ", typeName(weight),
                   "; the model's is ", typeName(type));
  ArrayRef<char> bytes(reinterpret_cast<const char *>(weight.bytes.data()),
                       weight.bytes.size());
  state.setValueAttr(DenseElementsAttr::getFromRawBuffer(type, bytes));
  state.removeInitAttr();
  return absl::OkStatus();
}

} // namespace

absl::StatusOr<Program> readProgram(const Request &request,
                                    MLIRContext &context) {
  absl::StatusOr<recipe::Recipe> recipe = readRecipe(request);
  if (!recipe.ok())
    return recipe.status();
  auto module = readModel(request, *recipe, context);
  if (!module.ok())
    return module.status();
  for (ProgramOp program : (*module)->getOps<ProgramOp>())
    for (const Weight &weight : request.weights)
      if (absl::Status status = setWeight(program, weight, request.weightsFile);
          !status.ok())
        return status;
  return Program{*std::move(module), recipe->json};
}

} // namespace gradus::compiler
