// Replaces composite ops by smaller ones, which then fuse.
//
// Runs after the optimizer, when no pass needs a loss as one op any more, and
// before the clean-up that removes common parts of decompositions.

#include "passes/passes.h"

#include "mlir/IR/Remarks.h"

namespace gradus {
#define GEN_PASS_DEF_DECOMPOSE
#include "passes/passes.h.inc"

namespace {
using namespace mlir;

struct DecomposePass : impl::DecomposeBase<DecomposePass> {
  using Base::Base;

  void runOnOperation() override {
    // The ops of a decomposition may be composite again.
    SmallVector<Decomposable> work = compositeOps(getOperation());
    while (!work.empty()) {
      for (Decomposable op : work)
        replace(op);
      work = compositeOps(getOperation());
    }
  }

  static SmallVector<Decomposable> compositeOps(Operation *root) {
    SmallVector<Decomposable> ops;
    root->walk([&](Decomposable op) {
      if (!op.staysWhole())
        ops.push_back(op);
    });
    return ops;
  }

  void replace(Decomposable op) {
    OpBuilder builder(op);
    SmallVector<Value> results = op.decompose(builder);
    remark::passed(
        op.getLoc(),
        remark::RemarkOpts::name("Decomposed").category(getArgument()))
        << op->getName().getStringRef() << " written as smaller ops";
    op->replaceAllUsesWith(results);
    op->erase();
  }
};

} // namespace
} // namespace gradus
