// The moving averages of a gradient and of its square, which adam and its kin
// keep.
#pragma once

#include "passes/optimizers/optimizer.h"

namespace gradus {

/// m = m + (1 - beta) * (g - m), kept in the slot `first_moment`.
mlir::Value newFirstMoment(ParameterStep &step, mlir::Value gradient,
                           mlir::Value beta);
/// v = beta * v + (1 - beta) * g^2, kept in the slot `second_moment`.
mlir::Value newSecondMoment(ParameterStep &step, mlir::Value gradient,
                            mlir::Value beta);
/// 1 - beta^t: how much of a moment's weight has come together by step t.
mlir::Value biasCorrection(const ParameterStep &step, mlir::Value beta);
/// sqrt(v) / sqrt(1 - beta2^t) + epsilon.
mlir::Value correctedDeviation(const ParameterStep &step, mlir::Value second,
                               mlir::Value beta2, mlir::Value epsilon);

} // namespace gradus
