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

/// Momentum that is added up outside of the optimizer, and where it leads.
struct Velocity {
  mlir::Value kept, direction;
};
/// `factor * old + gradient` for a scalar; it leads there, or with `nesterov`
/// to `gradient + factor * kept`.
Velocity nextVelocity(const Arithmetic &math, mlir::Value factor, bool nesterov,
                      mlir::Value old, mlir::Value gradient);

mlir::LogicalResult moveBySgd(ParameterStep &step, const SgdSettings &settings);

} // namespace gradus
