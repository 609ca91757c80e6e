// Where a step stands in training: counters, and what schedules count.
//
// `@step` counts the steps that ran. Where steps may be skipped, because a
// gradient overflowed, `@accepted_steps` counts those that were not; with
// accumulation, several of them make one update.
#pragma once

#include "ir/arithmetic.h"
#include "recipe/settings.h"

namespace gradus {

/// Batches whose gradients make one update: the recipe's `accumulation`.
int64_t stepsPerUpdate(ProgramOp program);
/// Whether a step with a gradient that is no number changes nothing.
bool skipsSteps(ProgramOp program);
/// The state by which updates are counted: "step" or "accepted_steps".
llvm::StringRef countingState(ProgramOp program);

/// The keys `accumulation` and `on_nonfinite`.
const recipe::Field &accumulationKey();
const recipe::Field &nonfiniteKey();

/// Scalars of f64.
struct Clock {
  mlir::Value step;   // updates before this one
  mlir::Value number; // 1 at the first update
};

/// Reads the counters at the builder's place; makes their states if they are
/// not there. Fails where the model has their names.
mlir::FailureOr<Clock> readClock(mlir::OpBuilder &builder, mlir::Location loc,
                                 ProgramOp program);

/// Whether the next update is still to be begun: the first of its batches.
mlir::Value isFirstOfUpdate(mlir::OpBuilder &builder, mlir::Location loc,
                            ProgramOp program);

/// Counts this step.
void advanceClock(mlir::OpBuilder &builder, mlir::Location loc,
                  ProgramOp program);

} // namespace gradus
