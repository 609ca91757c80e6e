// Passes that the recipe adds to the stages of the pipeline; see
// added_passes.cpp.
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// Refuses entries of the recipe's `passes` whose stage or pass there is not.
mlir::LogicalResult checkAddedPasses(ProgramOp program);

} // namespace gradus
