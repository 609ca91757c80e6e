// Finds the order and the least recomputation with which a step fits into a
// memory limit.
#pragma once

#include "ir/gradus.h"

#include "llvm/Support/Error.h"

namespace gradus {

/// A module of scheduled commands, and the bytes that it needs while the graph
/// that needs most runs.
struct Fitted {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  int64_t bytes = 0;
};

/// Returns the bytes that a program needs to run a graph of commands.
using Predict = llvm::function_ref<int64_t(GraphOp)>;

/// Copies a scheduled module, and applies passes to each of its graphs until
/// the graph needs at most `limit` bytes, or as few as it can. Graphs share an
/// arena and run one at a time, so each is changed only as far as it must be.
/// First sums over ranks are waited for sooner, so that fewer buckets are
/// alive, then the pass `recompute` repeats commands.
/// Fails only if a pass does, with diagnostics of the context.
llvm::Expected<Fitted> fitMemory(mlir::ModuleOp module, int64_t limit,
                                 Predict predict);

} // namespace gradus
