// The inverse of a Hessian as BFGS estimates it, from steps and the changes of
// the gradient along them (Nocedal and Wright, "Numerical Optimization",
// section 6.1), for vectors of few numbers.
#pragma once

#include "ir/arithmetic.h"

namespace gradus {

/// The product of a matrix [n, n] and a vector [n].
mlir::Value timesVector(const Arithmetic &math, mlir::Value matrix,
                        mlir::Value vector);
/// The product of two vectors, a scalar.
mlir::Value innerProduct(const Arithmetic &math, mlir::Value one,
                         mlir::Value other);

/// The estimate after a step s along which the gradient changed by y:
/// E^T H E + s s^T / q with E = I - y s^T / q and q = y s. It is H itself where
/// q is not greater than `threshold`, since the result would not be positive
/// definite. H is symmetric [n, n], and so is the result.
mlir::Value inverseAfterStep(const Arithmetic &math, mlir::Value inverse,
                             mlir::Value step, mlir::Value change,
                             double threshold);

} // namespace gradus
