// Refuses a step that would make the states of ranks differ.
//
// Runs when all writes are there, those of passes of the recipe included. What
// each rank computes of its own samples has to be shared before it changes a
// state: a counter that differs makes ranks run steps of different kinds, in
// which they wait for each other for ever.

#include "passes/distribution.h"

#include "passes/passes.h"
#include "passes/train_graphs.h"
#include "runtime/well_known.h"

namespace gradus {
#define GEN_PASS_DEF_CHECKRANKS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

struct CheckRanksPass : impl::CheckRanksBase<CheckRanksPass> {
  using Base::Base;

  void runOnOperation() override {
    if (!isDataParallel(getOperation()))
      return;
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      if (graph.getSymName().starts_with(kTrain) && failed(check(graph)))
        signalPassFailure();
  }

  LogicalResult check(GraphOp graph) {
    auto inputs = graph.getBody().getArguments();
    llvm::DenseSet<Value> own(inputs.begin(), inputs.end());
    auto result = success();
    for (Operation &op : graph.getBody().front()) {
      auto write = dyn_cast<WriteOp>(op);
      if (write && own.contains(write.getValue()) && !differs(write.getState()))
        result = refuse(write);
      auto read = dyn_cast<ReadOp>(op);
      if ((read && differs(read.getState())) ||
          (!isa<AllReduceOp>(op) &&
           llvm::any_of(op.getOperands(),
                        [&](Value operand) { return own.contains(operand); })))
        own.insert_range(op.getResults());
    }
    return result;
  }

  /// Whether a state is each rank's own.
  bool differs(StringRef name) {
    StateOp state = getOperation().getState(name);
    return name == well_known::kRank || (state && state.getDiffersAlong());
  }

  LogicalResult refuse(WriteOp write) {
    return write.emitError("@")
           << write.getState()
           << " would differ between ranks: what is written follows from the "
              "samples of each, and is not summed over them; a pass has to "
              "share it (gradus.all_reduce), or say that the state "
              "differs_along [\"data\"]";
  }
};

} // namespace
} // namespace gradus
