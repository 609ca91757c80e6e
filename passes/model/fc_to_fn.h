// The last dense layer, fully normalized: the recipe's `fc_to_fn`.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct FcToFnSettings {
  double epsilon = 0; // the minimum square of a norm, as a divisor
  bool bias = false;  // whether the layer keeps its bias
};

const recipe::Method<FcToFnSettings> &fcToFn();

} // namespace gradus
