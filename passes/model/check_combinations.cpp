// Refuses incompatible methods of the recipe, and passes that cannot be added,
// before any pass has changed the program. The table is in pipeline.cpp.

#include "passes/added_passes.h"
#include "passes/passes.h"
#include "recipe/settings.h"

namespace gradus {
#define GEN_PASS_DEF_CHECKCOMBINATIONS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

/// Whether a key is present and has an effect.
bool isAsked(ProgramOp program, StringRef key) {
  DictionaryAttr recipe = program.getRecipeAttr();
  Attribute value = recipe ? recipe.get(key) : Attribute();
  if (auto flag = dyn_cast_or_null<BoolAttr>(value))
    return flag.getValue();
  if (auto number = dyn_cast_or_null<IntegerAttr>(value))
    return number.getInt() > 1;
  return isa_and_nonnull<DictionaryAttr>(value);
}

struct CheckCombinationsPass
    : impl::CheckCombinationsBase<CheckCombinationsPass> {
  using Base::Base;

  void runOnOperation() override {
    for (const Exclusion &pair : exclusions())
      if (isAsked(getOperation(), pair.method) &&
          isAsked(getOperation(), pair.other)) {
        recipe::keyError(getOperation(), pair.method)
            << "excludes " << pair.other << ": " << pair.reason;
        signalPassFailure();
      }
    if (failed(checkAddedPasses(getOperation())))
      signalPassFailure();
  }
};

} // namespace
} // namespace gradus
