// Finds the least recomputation with which a step fits into memory.
#pragma once

#include "ir/gradus.h"

#include "llvm/Support/Error.h"

namespace gradus {

/// How much of the model is computed twice: see the pass `recompute`.
struct Recomputation {
  unsigned segments = 1, recomputed = 0;
};

/// A module lowered to commands, and the bytes it needs.
struct Fitted {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Recomputation recomputation;
  int64_t bytes = 0;
};

/// Bytes that a lowered module needs to run.
using Predict = llvm::function_ref<int64_t(mlir::ModuleOp)>;

/// Lowers copies of a module that has run the training pipeline until one needs
/// `limit` bytes or less; else gives the one that needs the fewest. Fails only
/// where passes do, with diagnostics of the context.
llvm::Expected<Fitted> fitMemory(mlir::ModuleOp module, int64_t limit,
                                 Predict predict);

} // namespace gradus
