// Settings of dropout in training: the recipe's `dropout`.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct DropoutSettings {
  /// The ratio of every dropout; none: as the model says.
  std::optional<double> ratio;
};

const recipe::Keys<DropoutSettings> &dropoutKeys();

} // namespace gradus
