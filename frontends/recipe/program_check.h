// The recipe of a program that was written as text is checked like a file.

#pragma once

#include "mlir/IR/DialectRegistry.h"

namespace gradus::recipe {

/// From now on the verifier of gradus.program refuses recipes with mistakes.
/// For gradus-opt: the tool reads the recipes of programs itself, and names
/// their file. Exported by libgradus_compiler.so.
__attribute__((visibility("default"))) void
registerProgramCheck(mlir::DialectRegistry &registry);

} // namespace gradus::recipe
