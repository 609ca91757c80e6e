// Passes that do what they should not, and one that does as it should: what
// added_passes.test and pass_plugin.test load.

#include "ir/arithmetic.h"
#include "passes/pass_plugin.h"

namespace {
using namespace mlir;
using namespace gradus;

template <typename Self, typename Op>
struct Named : PassWrapper<Self, OperationPass<Op>> {
  StringRef getArgument() const override { return Self::kName; }
};

struct DoubleGradients : Named<DoubleGradients, GraphOp> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(DoubleGradients)
  static constexpr StringLiteral kName = "double-gradients";
  void runOnOperation() override {
    getOperation().walk([](ParameterUpdate update) {
      OpBuilder builder(update);
      OpOperand &gradient = update.getGradientUse();
      gradient.set(Arithmetic(builder, update.getLoc())
                       .add(gradient.get(), gradient.get()));
    });
  }
};

struct FailsSilently : Named<FailsSilently, ProgramOp> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(FailsSilently)
  static constexpr StringLiteral kName = "fails-silently";
  void runOnOperation() override { signalPassFailure(); }
};

struct LeavesInvalid : Named<LeavesInvalid, ProgramOp> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LeavesInvalid)
  static constexpr StringLiteral kName = "leaves-invalid";
  void runOnOperation() override {
    (*getOperation().getOps<StateOp>().begin()).erase();
  }
};

struct OnModule : Named<OnModule, ModuleOp> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OnModule)
  static constexpr StringLiteral kName = "on-module";
  void runOnOperation() override {}
};

} // namespace

GRADUS_PASS_PLUGIN(DoubleGradients, FailsSilently, LeavesInvalid, OnModule)
