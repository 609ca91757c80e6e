// Freezing as a recipe writes it by hand: which parameters rest in which steps.
#pragma once

#include "passes/freeze_plan.h"
#include "passes/gradient_freeze.h"

#include <set>

namespace gradus {

/// From a step on, until the next phase begins.
struct FreezePhase {
  int64_t firstStep;
  std::set<std::string> frozen;
};

/// The phases of training, the first one from step 0 on; each differs from the
/// one before. A pattern that names none of the parameters, which are in the
/// order of the forward pass, is an error at the program, as is a phase that
/// trains none.
mlir::FailureOr<std::vector<FreezePhase>>
freezePhases(ProgramOp program, const FreezeSettings &settings,
             llvm::ArrayRef<FrozenParameter> parameters);

} // namespace gradus
