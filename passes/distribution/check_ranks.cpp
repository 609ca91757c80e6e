// Refuses a step that would make the states of ranks differ.
//
// Runs when all writes are there, those of passes of the recipe included. What
// each rank computes of its own samples has to be shared before it changes a
// state: a counter that differs makes ranks run steps of different kinds, in
// which they wait for each other for ever.

#include "passes/distribution.h"

#include "passes/distribution/own_values.h"
#include "passes/passes.h"
#include "passes/train_graphs.h"

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
    llvm::DenseSet<Value> own = ownValues(getOperation(), graph);
    auto result = success();
    for (auto write : graph.getBody().front().getOps<WriteOp>())
      if (own.contains(write.getValue()) &&
          !isOwnState(getOperation(), write.getState()))
        result = refuse(write);
    return result;
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
