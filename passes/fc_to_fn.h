// The last dense layer, fully normalized: the recipe's `fc_to_fn`.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct FcToFnSettings {
  double epsilon = 0; // the least square of a norm that is divided by
  bool bias = false;  // whether the layer keeps its own
};

const recipe::Method<FcToFnSettings> &fcToFn();

} // namespace gradus
