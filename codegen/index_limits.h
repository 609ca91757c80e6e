// Which inputs of a program are indices, such as the tokens of a sentence: a
// data set is checked against it before anything is looked up.
#pragma once

#include "ir/gradus.h"

#include "llvm/ADT/StringMap.h"

namespace gradus {

/// By name of the input: its elements lie in [-limit, limit), as those below
/// zero count from the end. Inputs that no gather looks up as they are have no
/// entry.
using IndexLimits = llvm::StringMap<int64_t>;

/// To be asked before codegen, while there are gathers.
IndexLimits indexLimits(ProgramOp program);

} // namespace gradus
