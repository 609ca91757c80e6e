// Settings over a recipe: `path.to.key=value`, as --set and flags have them.

#pragma once

#include "frontends/recipe/recipe.h"
#include "recipe/field.h"

#include "llvm/ADT/StringRef.h"

#include <nlohmann/json.hpp>

namespace gradus::recipe {

/// A value in its long form, where the field has a short one.
nlohmann::ordered_json written(const Field &field,
                               const nlohmann::ordered_json &value);

/// The key of a setting, without what follows it: `=` or `+=`.
llvm::StringRef keyOf(llvm::StringRef setting);

/// Applies settings, the later over the earlier: `path.to.key=value`, or `+=`
/// for one more element of a list. An index into a list that is not said means
/// the default of the key.
absl::Status apply(nlohmann::ordered_json &recipe, const Overrides &overrides);

} // namespace gradus::recipe
