// Takes the measurement of curvature out of most steps: they use what an
// earlier one has measured and inverted.
//
// Runs behind trace_factors and before freezing, whose cuts are of the step
// that measures nothing: an update that refreshes trains everything.

#include "passes/passes.h"
#include "passes/preconditioning.h"
#include "passes/train_graphs.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_REFRESHVARIANTS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

struct RefreshVariantsPass : impl::RefreshVariantsBase<RefreshVariantsPass> {
  using Base::Base;

  void runOnOperation() override {
    auto settings = preconditioning().of(getOperation());
    GraphOp train = getOperation().getGraph(kTrain);
    if (!settings || !train ||
        train.getBody().front().getOps<FactorsOp>().empty())
      return;
    if (failed(addRefreshes(train, settings->refresh)))
      return signalPassFailure();
    if (settings->refresh.isInEach())
      return;
    remark::passed(
        train.getLoc(),
        remark::RemarkOpts::name("Refreshed").category(getArgument()))
        << "@train_refresh measures curvature, @train does not";
  }
};

} // namespace
} // namespace gradus
