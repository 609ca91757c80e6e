// Means and sums of the samples of one rank, as parts of those of all.
#pragma once

#include "passes/distribution.h"

namespace gradus {

/// The ranks of a run that share a loss; where `count` is null, each has its
/// own.
struct LossRanks {
  mlir::Value count; // an i64 scalar
  LossMean mean = LossMean::global;
  /// Whether a process computes them in turn: what counts on all is known when
  /// the last one has computed its gradients (passes/deferred_factor.h).
  bool inTurn = false;
  /// Whether each updates its own weights, by the gradient of its own loss.
  bool haveOwnWeights = false;
};

/// The labels of a rank: the sum of what counts in the mean of a loss, which is
/// a scalar, and the number of all of them.
struct Counted {
  mlir::Value own;
  int64_t labels; // those that do not count included
};

/// Divides the sum of this rank's terms by what counts. Globally that is the
/// mean over ranks, which is 0 only where nothing counts on any; else a rank on
/// which nothing counts divides its zeros by 1.
mlir::Value meanOfTerms(const Arithmetic &math, mlir::Value total,
                        const Counted &counted, LossRanks ranks);

/// Scales a mean over this rank's labels to its part in the mean over ranks. A
/// rank on which none counts adds 0, unless none counts anywhere.
mlir::Value scaleToAll(const Arithmetic &math, mlir::Value mean,
                       const Counted &counted, LossRanks ranks);

/// Multiplies a sum by the number of ranks, so that the mean over them is the
/// sum of all. The gradients of ranks with weights of their own are of the
/// sum as it was: no mean of them is taken.
mlir::Value timesRanks(const Arithmetic &math, mlir::Value value,
                       LossRanks ranks);

} // namespace gradus
