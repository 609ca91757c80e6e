// This tells which values of a training graph may differ between ranks.
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// Whether a state is each rank's own.
bool isOwnState(ProgramOp program, llvm::StringRef state);

/// The values that follow from a rank's samples, or from states that are its
/// own, without a sum over ranks.
llvm::DenseSet<mlir::Value> ownValues(ProgramOp program, GraphOp graph);

} // namespace gradus
