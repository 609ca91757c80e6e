// Schedules: hyperparameters change with the step, by arithmetic of the step
// counter.
#pragma once

#include "passes/optimizers/piece_lengths.h"

#include "llvm/ADT/StringMap.h"

#include <optional>

namespace gradus {

/// The recipe's key `schedule`.
const recipe::Field &scheduleKey();

/// Finds the first piece of the recipe's `schedule` whose keys do not fit
/// together.
FoundMistake scheduleMistake(const recipe::Value &schedule);

/// Returns the number of updates of the learning rate's pieces, and some more
/// if the last goes on; nothing where it does not change. The recipe must say
/// the length of the run where pieces need it, and have `"settable": false`.
std::optional<int64_t> scheduleLength(ProgramOp program);

/// Whether the learning rate's pieces need a length of the run that the recipe
/// does not say.
bool awaitsRunLength(ProgramOp program);

/// The recipe's `schedule`: for each hyperparameter that it names a factor at
/// step k (counted from 0), a scalar of f64. docs/schedules.md has the
/// formulas; the pieces of a list follow one another, each `steps` long, and
/// after the last its end holds.
class Schedules {
public:
  /// `step` is a scalar of f64, whole. Fails with an error at the program where
  /// a piece is not well-formed.
  static mlir::FailureOr<Schedules> read(const Arithmetic &math,
                                         ProgramOp program, mlir::Value step);

  /// The factor of a hyperparameter, null where it does not change.
  mlir::Value factorOf(llvm::StringRef hyperparameter) const {
    return factors_.lookup(hyperparameter);
  }

private:
  llvm::StringMap<mlir::Value> factors_;
};

} // namespace gradus
