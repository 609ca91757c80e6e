// Checks what an artifact says of its program before anything reads it.

#include "frontends/compiler/carried_program.h"

#include "codegen/artifact/program_section.h"
#include "frontends/compiler/input_preparation.h"
#include "ir/evaluator/values_in_place.h"
#include "messages/message.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/raw_ostream.h"

#include <map>

using namespace mlir;

namespace gradus::compiler {
namespace {

/// The first option that would change the recipe, the model or its weights;
/// empty if there is none.
std::string settledOption(const Request &request) {
  if (!request.recipe.file.empty())
    return "--recipe " + request.recipe.file;
  if (!request.recipe.text.empty())
    return "the recipe";
  if (!request.recipe.overrides.empty())
    return "--set " + request.recipe.overrides.front();
  if (!request.recipe.flags.empty())
    return request.recipe.flags.front().second;
  for (const auto &[flag, value] : request.recipe.keyFlags)
    if (!value.empty())
      return flag;
  if (!request.dims.empty())
    return "--dim " + request.dims.front();
  if (!request.weights.file.empty())
    return "--weights " + request.weights.file;
  if (!request.givenBasis.empty())
    return request.givenBasis;
  return request.weights.rule.empty() ? ""
                                      : "--initialize " + request.weights.rule;
}

absl::Status checkRequest(const Request &request) {
  const CarriedProgram &carried = *request.carried;
  if (std::string option = settledOption(request); !option.empty())
    return invalid(option, ": ", request.model,
                   " is an artifact, whose recipe and weights are settled; "
                   "compile from the model");
  if (carried.bytecode.empty())
    return invalid(request.model,
                   ": carries no program to compile (--no-program"
                   "); compile from the model");
  if (carried.compiler != compilerName())
    return invalid(request.model, ": its program was written by ",
                   carried.compiler, ", and this is ", compilerName(),
                   ", which cannot read it; compile with that version, or from "
                   "the model");
  return absl::OkStatus();
}

/// Tells damage from what the machine lacks.
absl::Status unreadable(const Request &request, llvm::Error error) {
  bool isOfMachine = false;
  std::string words;
  llvm::handleAllErrors(std::move(error), [&](const llvm::StringError &each) {
    isOfMachine =
        each.convertToErrorCode() == std::errc::resource_unavailable_try_again;
    words = each.getMessage();
  });
  if (isOfMachine)
    return absl::UnavailableError(
        message(request.model, ": its program ", words));
  return invalid(request.model, ": its program is damaged: ", words);
}

/// "f32", "u8"
std::string elementName(RankedTensorType type) {
  std::string text;
  llvm::raw_string_ostream(text) << type.getElementType();
  if (text.starts_with("ui"))
    text.erase(1, 1);
  return text;
}

/// Returns values that are not all equal to the context, as the weights
/// section has no others.
ElementsAttr valuesOf(const Weight &weight, RankedTensorType type) {
  ArrayRef<char> bytes(reinterpret_cast<const char *>(weight.bytes.data()),
                       weight.bytes.size());
  ElementsAttr values = valuesInPlace(type, bytes, weight.name, [] {});
  if (auto dense = dyn_cast<DenseElementsAttr>(values);
      dense && dense.isSplat())
    return DenseResourceElementsAttr::get(
        type, weight.name,
        UnmanagedAsmResourceBlob::allocateWithAlign(bytes, /*align=*/1));
  return values;
}

/// The initial values of the artifact by names of states.
class Values {
public:
  explicit Values(const std::vector<Weight> &weights) {
    for (const Weight &weight : weights)
      byName_.try_emplace(weight.name, &weight);
  }

  ElementsAttr operator()(llvm::StringRef name, RankedTensorType type) const {
    auto found = byName_.find(name.str());
    if (found == byName_.end() || !type.getElementType().isIntOrFloat() ||
        elementName(type) != found->second->dtype ||
        type.getShape() != ArrayRef(found->second->shape) ||
        found->second->bytes.size() !=
            static_cast<uint64_t>(type.getNumElements()) *
                type.getElementTypeBitWidth() / 8)
      return {};
    return valuesOf(*found->second, type);
  }

private:
  std::map<std::string, const Weight *> byName_;
};

} // namespace

absl::StatusOr<Program> readCarriedProgram(const Request &request,
                                           MLIRContext &context) {
  GRADUS_RETURN_IF_ERROR(checkRequest(request));
  const CarriedProgram &carried = *request.carried;
  recipe::Overrides overrides;
  addMemoryLimit(request, overrides);
  auto recipe =
      recipe::read(carried.recipe, request.model + ": its recipe", overrides);
  if (!recipe.ok())
    return recipe.status();
  ArrayRef<char> bytes(reinterpret_cast<const char *>(carried.bytecode.data()),
                       carried.bytecode.size());
  auto module = gradus::readProgram(bytes, context, Values(carried.values));
  if (!module)
    return unreadable(request, module.takeError());
  for (ProgramOp program : (*module)->getOps<ProgramOp>()) {
    program.setRecipeAttr(recipe::toAttribute(*recipe, context));
    GRADUS_RETURN_IF_ERROR(checkInputPreparation(program, recipe->json));
  }
  for (const std::string &remark : recipe->remarks)
    mlir::emitWarning(UnknownLoc::get(&context)) << "recipe: " << remark;
  return Program{std::move(*module), recipe->json, /*afterModel=*/true};
}

} // namespace gradus::compiler
