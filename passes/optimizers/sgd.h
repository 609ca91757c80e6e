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

/// Momentum that has been added up, and where it leads.
struct Velocity {
  mlir::Value kept, direction;
};
/// `factor * old + gradient` for a scalar, or `factor * old + part` where
/// dampening leaves a part of it; it leads there, or with `nesterov` to
/// `gradient + factor * kept`.
Velocity nextVelocity(const Arithmetic &math, mlir::Value factor, bool nesterov,
                      mlir::Value old, mlir::Value gradient,
                      mlir::Value part = {});

mlir::LogicalResult moveBySgd(ParameterStep &step, const SgdSettings &settings);

} // namespace gradus
