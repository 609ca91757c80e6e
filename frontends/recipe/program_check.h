// The recipe of a program that was written as text is checked like a file.

#pragma once

#include "ir/gradus.h"

namespace gradus::recipe {

/// Checks the recipe of a program like a file: an error at the program names
/// each mistake.
llvm::LogicalResult checkProgram(ProgramOp program);

/// Makes the verifier of gradus.program refuse recipes with mistakes.
/// For gradus-opt: the tool reads the recipes of programs itself, and names
/// their file. Exported by libgradus_compiler.so.
__attribute__((visibility("default"))) void
registerProgramCheck(mlir::DialectRegistry &registry);

} // namespace gradus::recipe
