// Settings of dropout in training: the recipe's `dropout`.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct DropoutSettings {
  /// Part of its elements that every dropout drops; none: as the model says.
  std::optional<double> ratio;
};

const recipe::Keys<DropoutSettings> &dropoutKeys();

} // namespace gradus
