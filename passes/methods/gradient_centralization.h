// Settings of gradients with zero mean: the recipe's `gradient_centralization`.
#pragma once

#include "passes/weight_axes.h"
#include "recipe/settings.h"

namespace gradus {

struct CentralizationSettings {
  enum class Placement { beforeWeightDecay, afterWeightDecay };

  Placement placement = {};
  std::vector<WeightKind> kinds; // of layers whose weights are centered
  bool grouped = false;          // also those of convolutions in groups
  int64_t multiple = 1;          // the second axis must be a multiple of it
};

const recipe::Method<CentralizationSettings> &gradientCentralization();

} // namespace gradus
