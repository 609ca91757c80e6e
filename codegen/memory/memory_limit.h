// Finds the order and the least recomputation with which a step fits into a
// memory limit.
#pragma once

#include "ir/gradus.h"

#include "llvm/Support/Error.h"

namespace gradus {

/// The part of the model that is computed twice: see the pass `recompute`.
struct Recomputation {
  unsigned segments = 1, recomputed = 0;
};

/// A module of scheduled commands, and the bytes that it needs.
struct Fitted {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  Recomputation recomputation;
  int64_t bytes = 0;
};

/// Returns the bytes that a module of commands needs to run.
using Predict = llvm::function_ref<int64_t(mlir::ModuleOp)>;

/// Applies passes to copies of a scheduled module until one needs at most
/// `limit` bytes; otherwise returns the copy that needs the fewest. First sums
/// over ranks are waited for sooner, so that fewer buckets are alive, then the
/// pass `recompute` repeats commands.
/// Fails only if the pass does, with diagnostics of the context.
llvm::Expected<Fitted> fitMemory(mlir::ModuleOp module, int64_t limit,
                                 Predict predict);

} // namespace gradus
