// How far a layer may move: the ratio of its norm to that of its move, which
// lamb and lars scale by.
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
