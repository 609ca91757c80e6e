// States that passes add to a program, and their reads and writes.
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// Adds a state of zeros after the program's last one, unless it is there. One
/// of that name with another type or role is an error: it is the model's.
mlir::LogicalResult ensureState(ProgramOp program, llvm::StringRef name,
                                mlir::RankedTensorType type, Role role);

mlir::Value readState(mlir::OpBuilder &builder, mlir::Location loc,
                      llvm::StringRef name, mlir::RankedTensorType type);
void writeState(mlir::OpBuilder &builder, mlir::Location loc,
                llvm::StringRef name, mlir::Value value);

} // namespace gradus
