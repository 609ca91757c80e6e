// Passes that the recipe adds to the stages of the pipeline; see
// added_passes.cpp.
#pragma once

#include "recipe/settings.h"

namespace gradus {

/// The recipe's `passes`.
const recipe::Field &addedPassesKey();

/// Refuses entries of the recipe's `passes` whose stage or pass there is not.
mlir::LogicalResult checkAddedPasses(ProgramOp program);

} // namespace gradus
