// Lowers gradus.guard to selections between a state's new and old value.
//
// Runs when every update is a write, so that parameters and slots are guarded
// alike; the selections then fuse with the computation of the new values.

#include "ir/arithmetic.h"
#include "passes/passes.h"
#include "passes/state.h"

namespace gradus {
#define GEN_PASS_DEF_EXPANDGUARDS
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

struct ExpandGuardsPass : impl::ExpandGuardsBase<ExpandGuardsPass> {
  using Base::Base;

  void runOnOperation() override {
    for (auto graph : getOperation().getBody().getOps<GraphOp>()) {
      Block &block = graph.getBody().front();
      for (auto guard : llvm::make_early_inc_range(block.getOps<GuardOp>())) {
        // Guarding a write moves it, so all of them are listed first.
        for (WriteOp write : llvm::to_vector(block.getOps<WriteOp>()))
          if (!guard.exempts(write.getStateAttr()))
            hold(guard, write);
        guard.erase();
      }
    }
  }

  static void hold(GuardOp guard, WriteOp write) {
    OpBuilder builder(write);
    write->moveBefore(write->getBlock()->getTerminator());
    builder.setInsertionPoint(write);
    RankedTensorType type = tensorType(write.getValue());
    Value old = readState(builder, write.getLoc(), write.getState(), type);
    Value changes = broadcastScalar(builder, write.getLoc(),
                                    guard.getCondition(), type.getShape());
    write.getValueMutable().assign(Arithmetic(builder, write.getLoc())
                                       .select(changes, write.getValue(), old));
  }
};

} // namespace
} // namespace gradus
