// Settings over a program's recipe; see program_settings.h.

#include "frontends/recipe/program_settings.h"

using namespace mlir;

namespace gradus::recipe {

/// The keys of a whole recipe that were said before, or are not the default.
static DictionaryAttr said(DictionaryAttr whole, DictionaryAttr before,
                           DictionaryAttr defaults) {
  NamedAttrList members;
  for (NamedAttribute member : whole)
    if ((before && before.contains(member.getName())) ||
        defaults.get(member.getName()) != member.getValue())
      members.append(member);
  return members.getDictionary(whole.getContext());
}

LogicalResult applySettings(ProgramOp program, const Overrides &settings) {
  MLIRContext &context = *program->getContext();
  DictionaryAttr before = program.getRecipeAttr();
  auto recipe = read(before ? toJson(before) : "{}", "recipe", settings);
  if (!recipe.ok())
    return mlir::emitError(program.getLoc())
           << std::string(recipe.status().message());
  for (const std::string &remark : recipe->remarks)
    mlir::emitWarning(program.getLoc()) << "recipe: " << remark;
  program.setRecipeAttr(said(toAttribute(*recipe, context), before,
                             toAttribute(*readFile(""), context)));
  return success();
}

} // namespace gradus::recipe
