// Freezing as a recipe writes it by hand: which parameters rest in which steps.
#pragma once

#include "passes/freeze_plan.h"
#include "passes/recipe.h"

#include <set>

namespace gradus {

/// From a step on, until the next phase begins.
struct FreezePhase {
  int64_t firstStep;
  std::set<std::string> frozen;
};

/// Whether a recipe's `gradient_freeze` names what rests: `from`, `until` or
/// `last_layers`.
bool freezesByHand(const RecipeObject &wish);

/// The phases of training, the first one from step 0 on; each differs from the
/// one before. A pattern that names none of the parameters, which are in the
/// order of the forward pass, is an error, as is a phase that trains none.
mlir::FailureOr<std::vector<FreezePhase>>
freezePhases(const RecipeObject &wish,
             llvm::ArrayRef<FrozenParameter> parameters);

} // namespace gradus
