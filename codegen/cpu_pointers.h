// Pointers that innermost loops carry, in place of LLVM's loop strength
// reduction, which takes a fifth of the time of a compilation to find the same.
#pragma once

#include "llvm/IR/PassManager.h"

namespace gradus {

/// The pass keeps a pointer where an innermost loop multiplies its counter to
/// address memory, and adds the stride to it each round. The processor's own
/// addressing covers what is not multiplied, and constant distances.
struct CarryPointers : llvm::PassInfoMixin<CarryPointers> {
  llvm::PreservedAnalyses run(llvm::Function &function,
                              llvm::FunctionAnalysisManager &analyses);
};

} // namespace gradus
