// Makes kernels of the ops that need loops and scratch of their own. Their
// sources are lower_*.cpp beside this one.

#include "codegen/kernels/lower_to_kernels.h"

#include "codegen/plan/passes.h"

#include "llvm/ADT/TypeSwitch.h"

namespace gradus {
#define GEN_PASS_DEF_LOWERTOKERNELS
#include "codegen/plan/passes.h.inc"

using namespace mlir;

namespace {

/// Returns the values that stand for an op's results; none for an op that is
/// no kernel of its own.
/// Op list: it calls the overloads of `lowerToKernel`.
SmallVector<Value> lower(OpBuilder &builder, Operation *op,
                         KernelTable &kernels) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case<AttentionOp, AttentionBackwardOp, GramOp, InverseOp,
            plan::WinogradOp>(
          [&](auto known) { return lowerToKernel(builder, known, kernels); })
      .Default(SmallVector<Value>());
}

struct LowerToKernels : impl::LowerToKernelsBase<LowerToKernels> {
  using Base::Base;

  void runOnOperation() override {
    KernelTable kernels(getOperation());
    for (auto graph : getOperation().getBody().getOps<GraphOp>())
      for (Operation &op : llvm::make_early_inc_range(graph.getBody().front()))
        replace(&op, kernels);
  }

  /// An op that nobody uses gets no kernel: lower-to-nests erases it.
  void replace(Operation *op, KernelTable &kernels) {
    if (op->use_empty())
      return;
    if (pairs)
      readPairs(op);
    OpBuilder builder(op);
    SmallVector<Value> values = lower(builder, op, kernels);
    if (values.empty())
      return;
    op->replaceAllUsesWith(values);
    op->erase();
  }
};

} // namespace
} // namespace gradus
