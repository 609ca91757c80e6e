// The whole recipe as one field: its own keys, and those that training methods
// declare beside their passes.

#pragma once

#include "recipe/field.h"

namespace gradus::recipe {

/// The recipe as an object of its keys, in the order of its text.
const Field &recipeField();

} // namespace gradus::recipe
