// The learning-rate schedule as arithmetic of the step counter.
#pragma once

#include "passes/arithmetic.h"
#include "passes/recipe.h"

namespace gradus {

/// The factor on every learning rate at step k (counted from 0), as the
/// recipe's `schedule.learning_rate` says: a scalar f64, like `step`. Pieces
/// follow one another, each `steps` long; after the last, its end holds.
///
///   constant       1
///   linear_warmup  (k + 1) / steps
///   linear         1 + (final - 1) k / steps
///   cosine         final + (1 - final) (1 + cos(pi k / steps)) / 2
///
/// with k counted from the start of the piece. Fails with an error at the
/// program where a piece has no such type or length.
mlir::FailureOr<mlir::Value> scheduleFactor(const Arithmetic &math,
                                            const RecipeObject &recipe,
                                            mlir::Value step);

} // namespace gradus
