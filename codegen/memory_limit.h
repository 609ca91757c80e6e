// Finds the least recomputation with which a step fits into memory.
#pragma once

#include "ir/gradus.h"

#include "llvm/Support/Error.h"

namespace gradus {

/// How much of the model runs twice: see the pass `recompute`.
struct Recomputation {
  unsigned segments = 1, recomputed = 0;
};

/// A module of scheduled commands, and the bytes it needs.
struct Fitted {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Recomputation recomputation;
  int64_t bytes = 0;
};

/// Bytes that a module of commands needs to run.
using Predict = llvm::function_ref<int64_t(mlir::ModuleOp)>;

/// Recomputes in copies of a scheduled module until one needs `limit` bytes or
/// less; else gives the one that needs the fewest. Fails only where the pass
/// does, with diagnostics of the context.
llvm::Expected<Fitted> fitMemory(mlir::ModuleOp module, int64_t limit,
                                 Predict predict);

} // namespace gradus
