// Lookahead: the recipe's `lookahead`.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct LookaheadSettings {
  int64_t steps = 1;   // updates of the fast weights for one of the slow ones
  recipe::Number rate; // part of the way that the slow ones go
};

const recipe::Method<LookaheadSettings> &lookahead();

} // namespace gradus
