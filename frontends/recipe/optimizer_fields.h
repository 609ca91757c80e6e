// The keys of the recipe that say how parameters move: optimizers, schedules of
// their hyperparameters and groups of parameters.

#pragma once

#include "recipe/field.h"

namespace gradus::recipe {

Field optimizer();
Field schedule();
Field groups();

} // namespace gradus::recipe
