// A search over the options of `recompute`. Each trial lowers the whole step,
// so that what is compared is what the artifact will promise.

#include "codegen/memory_limit.h"

#include "codegen/pipeline.h"
#include "passes/passes.h"

#include "mlir/Pass/PassManager.h"

using namespace mlir;
using namespace gradus;

namespace {

class Search {
public:
  Search(ModuleOp module, int64_t limit, Predict predict)
      : module_(module), limit_(limit), predict_(predict) {}

  /// Nothing computed twice, then all of it in few to many segments; of the
  /// best number of segments as few as it takes.
  llvm::Expected<Fitted> run() {
    if (!tryOut({}) || fits())
      return take();
    for (unsigned segments : {4, 8, 16, 32})
      if (!tryOut({segments, segments - 1}))
        return take();
    if (fits() && !reduce())
      failed_ = true;
    return take();
  }

private:
  bool fits() const { return best_.bytes <= limit_; }

  /// Keeps the trial if it needs less than the best so far, or fits and
  /// computes less twice.
  bool tryOut(Recomputation how) {
    OwningOpRef<ModuleOp> copy(module_.clone());
    PassManager manager(module_.getContext());
    manager.enableVerifier(false);
    if (how.recomputed > 0)
      manager.nest<ProgramOp>().addPass(
          createRecompute({how.segments, how.recomputed}));
    buildCodegenPipeline(manager, "");
    if (mlir::failed(manager.run(*copy))) {
      failed_ = true;
      return false;
    }
    int64_t bytes = predict_(*copy);
    bool fewer = best_.module && bytes <= limit_ && fits() &&
                 how.segments == best_.recomputation.segments &&
                 how.recomputed < best_.recomputation.recomputed;
    if (!best_.module || bytes < best_.bytes || fewer)
      best_ = {std::move(copy), how, bytes};
    lastFits_ = bytes <= limit_;
    return true;
  }

  /// The smallest number of recomputed segments that fits, by bisection.
  bool reduce() {
    unsigned low = 1, high = best_.recomputation.recomputed;
    unsigned segments = best_.recomputation.segments;
    while (low < high) {
      unsigned middle = (low + high) / 2;
      if (!tryOut({segments, middle}))
        return false;
      if (lastFits_)
        high = middle;
      else
        low = middle + 1;
    }
    return true;
  }

  llvm::Expected<Fitted> take() {
    if (failed_)
      return llvm::createStringError(
          "the program does not compile; see the errors above");
    return std::move(best_);
  }

  ModuleOp module_;
  int64_t limit_;
  Predict predict_;
  Fitted best_;
  bool lastFits_ = false, failed_ = false;
};

} // namespace

llvm::Expected<Fitted> gradus::fitMemory(ModuleOp module, int64_t limit,
                                         Predict predict) {
  return Search(module, limit, predict).run();
}
