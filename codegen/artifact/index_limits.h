// Tells which inputs of a program are indices, such as the tokens of a
// sentence, so that a data set can be checked before it is used.
#pragma once

#include "ir/gradus.h"

#include "llvm/ADT/StringMap.h"

namespace gradus {

/// The limit by name of the input: its elements must be in [-limit, limit), as
/// negative ones count from the end. Inputs that no gather uses directly have
/// no entry.
using IndexLimits = llvm::StringMap<int64_t>;

/// Must be called before codegen, while there are gather ops.
IndexLimits indexLimits(ProgramOp program);

} // namespace gradus
