// Counters of training steps and updates, from which schedules are computed.
//
// `@step` counts the steps that ran. If steps may be skipped, because a
// gradient overflowed, `@accepted_steps` counts the others; with accumulation,
// several of them make one update.
#pragma once

#include "ir/arithmetic.h"
#include "recipe/settings.h"

namespace gradus {

/// The number of batches per update: the recipe's `accumulation`.
int64_t stepsPerUpdate(ProgramOp program);
/// Whether a step with a NaN or infinite gradient is skipped.
bool skipsSteps(ProgramOp program);
/// The state that counts updates: "step" or "accepted_steps".
llvm::StringRef countingState(ProgramOp program);

/// The keys `accumulation` and `on_nonfinite`.
const recipe::Field &accumulationKey();
const recipe::Field &nonfiniteKey();

/// The counters as f64 scalars.
struct Clock {
  mlir::Value step;   // updates before this one
  mlir::Value number; // 1 at the first update
};

/// Adds the states of the counters if they are missing. Fails if the model has
/// states of these names.
mlir::LogicalResult ensureClock(ProgramOp program);

/// Reads the counters at the insertion point, and adds their states if they are
/// missing. Fails if the model has states of these names.
mlir::FailureOr<Clock> readClock(mlir::OpBuilder &builder, mlir::Location loc,
                                 ProgramOp program);

/// Whether this step starts an update: has the first of its batches.
mlir::Value isFirstOfUpdate(mlir::OpBuilder &builder, mlir::Location loc,
                            ProgramOp program);

/// Increments the counters at the end of a step.
void advanceClock(mlir::OpBuilder &builder, mlir::Location loc,
                  ProgramOp program);

} // namespace gradus
