// Ranks whose weights are their own until they meet:
// passes/update/local_steps.cpp and partial_reduce.cpp.
#pragma once

#include "passes/distribution.h"

namespace gradus {

/// Begins an error: 'distribution.reduce "local" excludes '.
mlir::InFlightDiagnostic ownWeightsExclude(GraphOp train,
                                           llvm::StringRef reduce);

/// Refuses what neither of them goes with.
mlir::LogicalResult checkOwnWeights(GraphOp train, llvm::StringRef reduce);

} // namespace gradus
