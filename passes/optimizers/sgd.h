// The settings, keys and rule of sgd, which lars shares.
#pragma once

#include "passes/optimizers/optimizer.h"

namespace gradus {

struct SgdSettings {
  recipe::Number momentum, dampening;
  bool dampensFirst = false, nesterov = false;
};

/// `rate` is the default of `learning_rate`.
recipe::Fields sgdKeys(std::string_view rate);

mlir::LogicalResult moveBySgd(ParameterStep &step, const SgdSettings &settings);

} // namespace gradus
