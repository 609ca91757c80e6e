// Freezing that a recipe specifies by hand: which parameters are frozen in
// which steps.
#pragma once

#include "passes/local/freeze_plan.h"
#include "passes/local/gradient_freeze.h"

#include <set>

namespace gradus {

/// The frozen parameters from a step on, until the next phase.
struct FreezePhase {
  int64_t firstStep;
  std::set<std::string> frozen;
};

/// The phases of training, of which the first starts at step 0; each differs
/// from the one before. A pattern that matches none of the parameters, which
/// are in the order of the forward pass, is an error at the program, as is a
/// phase that trains no parameter.
mlir::FailureOr<std::vector<FreezePhase>>
freezePhases(ProgramOp program, const FreezeSettings &settings,
             llvm::ArrayRef<FrozenParameter> parameters);

} // namespace gradus
