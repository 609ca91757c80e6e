// The keys of the recipe's `loss`.

#pragma once

#include "recipe/field.h"

namespace gradus::recipe {

Field loss();

} // namespace gradus::recipe
