// Trust ratios: the ratio of a layer's norm to the norm of its move, by which
// lamb and lars scale the move.
#pragma once

#include "passes/optimizers/optimizer.h"

namespace gradus {

/// Norms of the parameter and of its move or gradient, as scalars of f64.
struct Norms {
  mlir::Value parameter, move;
};
Norms normsOf(const ParameterStep &step, mlir::Value move);

/// `ratio` where both norms are positive, else 1.
mlir::Value orOne(const ParameterStep &step, const Norms &norms,
                  mlir::Value ratio);

/// The key that scales also moves of parameters without weight decay.
recipe::Field alwaysAdapt();

} // namespace gradus
