// This tells which values of a training graph, and which states, may differ
// between ranks.
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// Whether a state is each rank's own.
bool isOwnState(ProgramOp program, llvm::StringRef state);

/// The values that follow from a rank's samples, or from states that are its
/// own, without a sum over ranks.
llvm::DenseSet<mlir::Value> ownValues(ProgramOp program, GraphOp graph);

/// Says that ranks have values of their own of a state.
void markOwn(StateOp state);

/// The writes of floating-point numbers that are among those values.
llvm::SmallVector<WriteOp> ownWrites(ProgramOp program, GraphOp graph);

/// Marks the states of these writes that have one of these roles, and those
/// that follow from them from one step to the next. Returns their writes.
/// Others stay as they are: what a method has forgotten to share is refused
/// later (the pass check-ranks).
llvm::SmallVector<WriteOp> markOwnWrites(ProgramOp program, GraphOp graph,
                                         llvm::ArrayRef<Role> roles);

} // namespace gradus
