// The keys of the recipe that say how parameters move: optimizers, schedules of
// their hyperparameters and groups of parameters.

#pragma once

#include "frontends/recipe/fields.h"

namespace gradus::recipe {

Field optimizer();
Field schedule();
Field groups();

/// A list of patterns of parameters' names.
Field patterns(std::string_view key, std::string_view fallback,
               std::string_view help);
/// Whose rule applies.
Field compat(std::string_view fallback, std::string_view help);

} // namespace gradus::recipe
