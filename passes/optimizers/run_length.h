// The length of a run, for schedules in epochs and fractions of it.
//
// It is known when training starts: two numbers of the recipe, which training
// sets unless the recipe says them. A session does not train before they are
// set.
#pragma once

#include "ir/arithmetic.h"
#include "recipe/settings.h"

#include <optional>

namespace gradus {

struct RunLengthSettings {
  std::optional<recipe::Number> updates, updatesPerEpoch; // none: set later
};

/// The keys of `schedule` that say it.
const recipe::Keys<RunLengthSettings> &runLengthKeys();

/// Returns the recipe of a program with a run's length, if it does not say one,
/// and with all numbers as constants.
mlir::DictionaryAttr withRunLength(ProgramOp program, double updates,
                                   double updatesPerEpoch);

/// Reads it where `math` builds, as scalars of f64, once something asks.
class RunLength {
public:
  RunLength(const Arithmetic &math, ProgramOp program);

  /// Updates of the whole run.
  mlir::Value updates() const;
  /// Updates of one epoch, not always whole: accumulation may divide the steps
  /// with a rest.
  mlir::Value updatesPerEpoch() const;
  /// Whether a number can be neither set nor read; there was an error then.
  bool hasFailed() const { return failed_; }

private:
  mlir::Value read(const recipe::Field &key, llvm::StringRef path,
                   const std::optional<recipe::Number> &said) const;

  const Arithmetic &math_;
  ProgramOp program_;
  RunLengthSettings settings_;
  mutable bool failed_ = false;
};

} // namespace gradus
