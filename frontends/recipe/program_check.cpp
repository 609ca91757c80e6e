// Checks a program's recipe when the program is verified; see program_check.h.

#include "frontends/recipe/program_check.h"

#include "frontends/recipe/recipe.h"
#include "frontends/recipe/thor.h"

#include "ir/recipe_check.h"

#include <atomic>

using namespace mlir;

namespace gradus::recipe {
namespace {

class ProgramCheck : public RecipeCheck {
public:
  using RecipeCheck::RecipeCheck;

  /// Programs are verified after each pass, several at once, and seldom have
  /// another recipe.
  LogicalResult check(ProgramOp program) const override {
    DictionaryAttr attribute = program.getRecipeAttr();
    if (attribute && attribute.getAsOpaquePointer() == checked_)
      return success();
    if (failed(checkProgram(program)))
      return failure();
    checked_ = attribute ? attribute.getAsOpaquePointer() : nullptr;
    return success();
  }

private:
  mutable std::atomic<const void *> checked_ = nullptr;
};

} // namespace

LogicalResult checkProgram(ProgramOp program) {
  DictionaryAttr attribute = program.getRecipeAttr();
  if (!attribute)
    return success();
  const std::string text = toJson(attribute);
  const auto given = nlohmann::ordered_json::parse(text, /*cb=*/nullptr,
                                                   /*allow_exceptions=*/false);
  if (given.is_object() && hasThor(given))
    return program.emitError()
           << "recipe: optimizer.type: \"thor\" is short for other keys, "
              "which a program's recipe has itself: `gradus recipe FILE` "
              "writes them out";
  auto recipe = recipe::read(text, "recipe");
  if (recipe.ok())
    return success();
  return program.emitError() << std::string(recipe.status().message());
}

void registerProgramCheck(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, GradusDialect *dialect) {
    dialect->addInterface<ProgramCheck>();
  });
}

} // namespace gradus::recipe
