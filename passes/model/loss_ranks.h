// Means and sums of the samples of one rank, as parts of those of all.
#pragma once

#include "passes/distribution.h"

namespace gradus {

/// The ranks of a run that share a loss; where `count` is null, each has its
/// own.
struct LossRanks {
  mlir::Value count; // an i64 scalar
  LossMean mean = LossMean::global;
};

/// The divisor of this rank's terms, of which `own` count. Globally it is the
/// mean over ranks, which is 0 only where nothing counts on any; else a rank on
/// which nothing counts divides its zeros by 1.
mlir::Value sharedCount(const Arithmetic &math, mlir::Value own,
                        LossRanks ranks);

/// Scales a mean over this rank's labels, of which `own` count, to its part in
/// the mean over ranks. A rank on which none counts adds 0, unless none counts
/// anywhere.
mlir::Value scaleToAll(const Arithmetic &math, mlir::Value mean,
                       mlir::Value own, LossRanks ranks);

/// Multiplies a sum by the number of ranks, so that the mean over them is the
/// sum of all.
mlir::Value timesRanks(const Arithmetic &math, mlir::Value value,
                       mlir::Value ranks);

} // namespace gradus
