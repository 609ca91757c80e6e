// The keys of the recipe that switch training methods on, one for each: the
// passes of their name.

#pragma once

#include "frontends/recipe/fields.h"

namespace gradus::recipe {

Field lessBn();
Field fcToFn();
Field gradientCentralization();
Field gradientFreeze();

} // namespace gradus::recipe
