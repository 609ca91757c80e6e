// The keys of the recipe's `loss`.

#pragma once

#include "frontends/recipe/fields.h"

namespace gradus::recipe {

Field loss();

} // namespace gradus::recipe
