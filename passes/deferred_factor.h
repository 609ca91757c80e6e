// A loss divided by what counts on all ranks, where its gradients are to be
// summed before that is known.
//
// With logical ranks a process computes several ranks' gradients one after the
// other, and the labels of the last one count in the mean of the first. The
// factor of the mean is a number that all ranks share, so it may as well
// multiply the sum of the gradients: the loss says which factor waits, autodiff
// leaves it out, and data_parallel multiplies by it.
#pragma once

#include "ir/arithmetic.h"

namespace gradus {

/// `value` times `factor`, a scalar that has to wait for other ranks.
mlir::Value deferFactor(const Arithmetic &math, mlir::Value value,
                        mlir::Value factor);

/// The parts of a loss with a factor that waits.
struct DeferredLoss {
  mlir::Value value;                      // without the factors
  llvm::SmallVector<mlir::Value> factors; // empty: none waits

  /// The product of the factors, in f32; null if there are none.
  mlir::Value factor(const Arithmetic &math) const;
};

/// Takes apart a loss that is a product with a factor that waits, maybe times
/// constants. A sum of several such losses has no one factor.
DeferredLoss deferredParts(mlir::Value loss);

} // namespace gradus
