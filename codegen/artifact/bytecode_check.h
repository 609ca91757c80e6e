// Checks MLIR bytecode for what MLIR's reader takes on trust.
#pragma once

#include "llvm/ADT/ArrayRef.h"

namespace gradus {

/// Whether the bytes are bytecode as `writeProgram` writes it, as far as MLIR
/// 22 does not check it: groups of attributes and types have as many entries as
/// there is room for, and there are no resources.
bool isSoundBytecode(llvm::ArrayRef<char> bytes);

} // namespace gradus
