// Settings of gradient clipping: the recipe's `clip`, of gradients of the loss,
// and `clip_update`, of what the optimizer gets, behind weight decay.
#pragma once

#include "recipe/settings.h"

namespace gradus {

struct ClipSettings {
  enum class Bounds { globalNorm, norm, value, adaptive };

  Bounds bounds = {};     // what is at most `value`
  recipe::Number value;   // for `adaptive`, as part of the weights' norm
  double epsilon = 0;     // of `adaptive`: the minimum norm of weights
  bool divides = false;   // global_norm: by max(1, norm / value)
  double normEpsilon = 0; // else times min(1, value / (norm + normEpsilon))
};

const recipe::Method<ClipSettings> &clip();
const recipe::Method<ClipSettings> &clipUpdate();

} // namespace gradus
