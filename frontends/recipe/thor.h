// The optimizer `thor`: MindSpore's nn.thor as one object of the recipe. It is
// short for other keys, which it becomes when a recipe is read: the optimizer
// `sgd`, `precondition`, `clip_update`, schedules and groups. No pass knows it;
// docs/methods/thor.md has the table.

#pragma once

#include "frontends/recipe/mistakes.h"
#include "recipe/field.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <string>
#include <vector>

namespace gradus::recipe {

/// The recipe's key `optimizer`, which may be `thor`, too.
Field withThor(Field optimizer);

/// Whether a recipe's optimizer is `thor`.
bool hasThor(const nlohmann::ordered_json &recipe);

/// Puts what the optimizer is short for in its place. It is `thor`, and has
/// been checked; other keys of the recipe win over what a preset schedules.
/// Leaves a recipe alone that has some of these keys itself. Returns what the
/// optimizer says without effect.
std::vector<std::string> expandThor(nlohmann::ordered_json &recipe);

/// Says what keeps the optimizer `thor` from becoming what it is short for,
/// where that is another key of the recipe.
std::optional<Mistake> thorMistake(const nlohmann::ordered_json &recipe);

} // namespace gradus::recipe
