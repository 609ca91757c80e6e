// Lowers gradus.guard to selections between a state's new and old value.
//
// Runs when every update is a write, so that parameters and slots are guarded
// alike; the selections then fuse with the computation of the new values.

#include "ir/arithmetic.h"
#include "passes/passes.h"
#include "passes/state.h"

#include "llvm/ADT/MapVector.h"

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
      // Guards that exempt the same states are one selection.
      llvm::MapVector<Attribute, SmallVector<GuardOp>> alike;
      for (auto guard : block.getOps<GuardOp>())
        alike[guard.getAlwaysAttr()].push_back(guard);
      for (auto &[always, guards] : alike) {
        Value condition = conditionOf(guards);
        // Guarding a write moves it, so all of them are listed first.
        for (WriteOp write : llvm::to_vector(block.getOps<WriteOp>()))
          if (!guards.front().exempts(write.getStateAttr()))
            hold(condition, write);
        for (GuardOp guard : guards)
          guard.erase();
      }
    }
  }

  /// Returns whether the conditions of all guards hold.
  static Value conditionOf(ArrayRef<GuardOp> guards) {
    GuardOp last = guards.back();
    OpBuilder builder(last);
    Value all = GuardOp(guards.front()).getCondition();
    for (GuardOp guard : guards.drop_front())
      all = arith::AndIOp::create(builder, last.getLoc(), all,
                                  guard.getCondition());
    return all;
  }

  static void hold(Value condition, WriteOp write) {
    OpBuilder builder(write);
    write->moveBefore(write->getBlock()->getTerminator());
    builder.setInsertionPoint(write);
    RankedTensorType type = tensorType(write.getValue());
    Value old = readState(builder, write.getLoc(), write.getState(), type);
    Value changes =
        broadcastScalar(builder, write.getLoc(), condition, type.getShape());
    write.getValueMutable().assign(Arithmetic(builder, write.getLoc())
                                       .select(changes, write.getValue(), old));
  }
};

} // namespace
} // namespace gradus
