// Searches the options of `schedule` and `recompute`, comparing the bytes that
// the artifact would report.

#include "codegen/memory/memory_limit.h"

#include "codegen/memory/liveness.h"
#include "codegen/plan/passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace gradus;

/// Applies `recompute` to a copy; without a module if the pass failed.
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

static bool hasSums(ModuleOp module) {
  return module.walk([](plan::StartOp) { return WalkResult::interrupt(); })
      .wasInterrupted();
}

/// Orders the commands of a copy so that a sum over ranks is waited for as soon
/// as the next one has begun; without a module if the pass failed.
static OwningOpRef<ModuleOp> oneInFlight(ModuleOp module) {
  OwningOpRef<ModuleOp> copy(module.clone());
  PassManager manager(module.getContext());
  manager.enableVerifier(false);
  manager.nest<ProgramOp>().addNestedPass<GraphOp>(
      createSchedule({/*inFlight=*/1}));
  if (failed(manager.run(*copy)))
    return {};
  return copy;
}

/// Recomputes all segments but the last, with the number of segments that needs
/// the fewest bytes.
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

/// Recomputes as few segments as possible, by bisection; `best` fits.
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

/// Recomputes as little as fits, or as much as needs the fewest bytes.
static Fitted fitByRecomputing(ModuleOp module, int64_t limit,
                               Predict predict) {
  Fitted found = recomputing(module, {}, predict);
  if (!found.module || found.bytes <= limit)
    return found;
  Fitted least = smallest(module, predict);
  // Recomputation may even need more if no segment is worth it.
  if (!least.module || least.bytes < found.bytes)
    found = std::move(least);
  if (found.module && found.bytes <= limit)
    found = fewest(module, limit, std::move(found), predict);
  return found;
}

llvm::Expected<Fitted> gradus::fitMemory(ModuleOp module, int64_t limit,
                                         Predict predict) {
  OwningOpRef<ModuleOp> fewer;
  if (hasSums(module) && predict(module) > limit) {
    fewer = oneInFlight(module);
    if (fewer && predict(*fewer) < predict(module))
      module = *fewer;
  }
  Fitted found = fitByRecomputing(module, limit, predict);
  if (!found.module)
    return llvm::createStringError(
        "the program does not compile; see the errors above");
  return found;
}
