// Sign descent: each gradient becomes its sign. Bernstein et al., "signSGD"
// (https://arxiv.org/abs/1802.04434). The README shows this plug-in; it is
// built like docs/examples/pass_plugin.

#include "ir/arithmetic.h"
#include "passes/pass_plugin.h"

using namespace mlir;
using namespace gradus;

struct SignDescent : PassWrapper<SignDescent, OperationPass<ProgramOp>> {
  StringRef getArgument() const override { return "sign-descent"; }

  void runOnOperation() override {
    getOperation().walk([](ParameterUpdate update) {
      OpBuilder builder(update);
      Arithmetic math(builder, update.getLoc());
      OpOperand &gradient = update.getGradientUse();
      gradient.set(math.sign(gradient.get()));
    });
  }
};

GRADUS_PASS_PLUGIN(SignDescent)
