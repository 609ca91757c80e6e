// A search over the options of `recompute`. What is compared is what the
// artifact will promise.

#include "codegen/memory_limit.h"

#include "codegen/passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace gradus;

/// A copy that recomputes; without a module where the pass failed.
static Fitted recomputing(ModuleOp module, Recomputation how, Predict predict) {
  OwningOpRef<ModuleOp> copy(module.clone());
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  manager.nest<ProgramOp>().addNestedPass<GraphOp>(
      createRecompute({how.segments, how.recomputed}));
  if (failed(manager.run(*copy)))
    return {};
  int64_t bytes = predict(*copy);
  return {std::move(copy), how, bytes};
}

/// All segments but the last computed twice, in the number that needs least.
static Fitted smallest(ModuleOp module, Predict predict) {
  Fitted best;
  for (unsigned segments : {4, 8, 16, 32}) {
    Fitted trial = recomputing(module, {segments, segments - 1}, predict);
    if (!trial.module)
      return trial;
    if (!best.module || trial.bytes < best.bytes)
      best = std::move(trial);
  }
  return best;
}

/// As few segments computed twice as it takes, by bisection; `best` fits.
static Fitted fewest(ModuleOp module, int64_t limit, Fitted best,
                     Predict predict) {
  unsigned low = 1;
  while (low < best.recomputation.recomputed) {
    Recomputation how = best.recomputation;
    how.recomputed = (low + how.recomputed) / 2;
    Fitted trial = recomputing(module, how, predict);
    if (!trial.module)
      return trial;
    if (trial.bytes <= limit)
      best = std::move(trial);
    else
      low = how.recomputed + 1;
  }
  return best;
}

llvm::Expected<Fitted> gradus::fitMemory(ModuleOp module, int64_t limit,
                                         Predict predict) {
  Fitted found = recomputing(module, {}, predict);
  if (found.module && found.bytes > limit) {
    Fitted least = smallest(module, predict);
    // A network without segments worth it needs no less than it did.
    if (!least.module || least.bytes < found.bytes)
      found = std::move(least);
    if (found.module && found.bytes <= limit)
      found = fewest(module, limit, std::move(found), predict);
  }
  if (!found.module)
    return llvm::createStringError(
        "the program does not compile; see the errors above");
  return found;
}
