// Means of factors of curvature over time, in states: of a batch alone they are
// noisy.
#pragma once

#include "ir/arithmetic.h"
#include "passes/state.h"

namespace gradus {

/// Counts a measurement in the state `counter`, which is added if it is
/// missing, and returns its weight in a mean over time: (1 - d) / (1 - d^n) for
/// the n-th, so that the first counts alone. A scalar of f32; null with an
/// error where the model has a state of that name.
mlir::Value weightOfMeasurement(const Arithmetic &math, States &states,
                                llvm::StringRef counter, double decay);

/// Moves the mean in the state `name` towards a factor by `weight` of the way,
/// and returns it. A block that is not finite does not count. Fails if the
/// model has a state of that name.
mlir::FailureOr<mlir::Value> meanOverTime(const Arithmetic &math,
                                          States &states, llvm::StringRef name,
                                          mlir::Value factor,
                                          mlir::Value weight);

} // namespace gradus
