// The number of samples that an update's gradients are means over.
#pragma once

#include "ir/arithmetic.h"

namespace gradus {

/// Returns the sum of what divides the losses of all ranks and of an update's
/// micro-batches, as a scalar of f32. Where weights are combined by AdaSum, the
/// sum is over the group of ranks that makes one update. Labels that count may
/// be more in one batch than in another, so the steps before an update's last
/// one are made to add them up, unless `areCounted` says that they do already.
mlir::FailureOr<mlir::Value> samplesOfUpdate(const Arithmetic &math,
                                             GraphOp train, bool &areCounted);

} // namespace gradus
