// Checks names in a program, which come from users' files and go into others.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace gradus {

/// Refuses a module if its program, states, inputs or outputs have names that
/// files cannot hold (runtime/names.h): an error with the name.
mlir::LogicalResult verifyNames(mlir::ModuleOp module);

} // namespace gradus
