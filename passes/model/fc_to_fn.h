// The last dense layer, fully normalized: the recipe's `fc_to_fn`.
#pragma once

#include "recipe/settings.h"

#include <cstdlib>

namespace gradus {

/// States of what was done, for the export of the model: the epsilon where it
/// is not the default; whether a layer that had a bias keeps it.
inline constexpr char kFcToFnEpsilon[] = "fc_to_fn/epsilon";
inline constexpr char kFcToFnBias[] = "fc_to_fn/bias";

/// The default of the key `epsilon`, as JSON and as a number.
inline constexpr char kUsualFnEpsilon[] = "0.0001";
inline double usualFnEpsilon() { return std::strtod(kUsualFnEpsilon, nullptr); }

struct FcToFnSettings {
  double epsilon = 0; // the minimum square of a norm, as a divisor
  bool bias = false;  // whether the layer keeps its bias
};

const recipe::Method<FcToFnSettings> &fcToFn();

} // namespace gradus
