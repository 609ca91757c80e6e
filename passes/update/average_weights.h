// The moving average of parameters: the recipe's `ema`.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct AverageSettings {
  recipe::Number decay; // of the average, at an update
  bool warmup = false;  // at most (1 + n) / (10 + n) at the n-th update
};

const recipe::Method<AverageSettings> &movingAverage();

} // namespace gradus
