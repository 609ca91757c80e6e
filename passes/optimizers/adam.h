// The settings, keys and rule of adam, which adamw shares.
#pragma once

#include "passes/optimizers/moments.h"

namespace gradus {

/// The root of the second moment that epsilon is added to: with its bias
/// corrected, or as it is.
enum class EpsilonPlace { corrected, uncorrected };

struct AdamSettings {
  Betas betas;
  recipe::Number epsilon;
  EpsilonPlace place = EpsilonPlace::corrected;
  bool schedulesEpsilon = true, amsgrad = false, nesterov = false;
};

/// `decay` is the default of `weight_decay`.
recipe::Fields adamKeys(std::string_view decay);

mlir::LogicalResult moveByAdam(ParameterStep &step,
                               const AdamSettings &settings);

} // namespace gradus
