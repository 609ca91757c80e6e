// Checks a program's recipe when the program is verified; see program_check.h.

#include "frontends/recipe/program_check.h"

#include "frontends/recipe/recipe.h"

#include "ir/recipe_check.h"

using namespace mlir;

namespace gradus::recipe {
namespace {

class ProgramCheck : public RecipeCheck {
public:
  explicit ProgramCheck(Dialect *dialect)
      : RecipeCheck(dialect), defaults(*readFile("")) {}

  /// Programs are verified after each pass, and seldom have another recipe.
  LogicalResult check(ProgramOp program) const override {
    DictionaryAttr attribute = program.getRecipeAttr();
    if (!attribute || attribute == checked)
      return success();
    auto recipe = recipe::read(toJson(attribute, defaults), "recipe");
    if (!recipe.ok())
      return program.emitError() << std::string(recipe.status().message());
    checked = attribute;
    return success();
  }

private:
  Recipe defaults;
  mutable DictionaryAttr checked;
};

} // namespace

void registerProgramCheck(DialectRegistry &registry) {
  registry.addExtension(+[](MLIRContext *, GradusDialect *dialect) {
    dialect->addInterface<ProgramCheck>();
  });
}

} // namespace gradus::recipe
