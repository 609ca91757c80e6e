// What stops or redirects gradients: everywhere else it is its input.

#include "ir/gradient_ops.h"

using namespace mlir;
using namespace gradus;

/// Nothing is left to stop at a constant, nor behind another stop.
OpFoldResult StopGradientOp::fold(FoldAdaptor adaptor) {
  if (getSubstitute())
    return {};
  auto inner = getInput().getDefiningOp<StopGradientOp>();
  if (inner && !inner.getSubstitute())
    return getInput();
  return adaptor.getInput();
}

/// Nothing for the input, all for the substitute.
SmallVector<Value> StopGradientOp::pullback(OpBuilder &, ValueRange g) {
  return getSubstitute() ? SmallVector<Value>{Value(), g[0]}
                         : SmallVector<Value>{Value()};
}

FailureOr<SmallVector<HostTensor>>
StopGradientOp::evaluate(ArrayRef<HostTensor> operands) {
  return SmallVector<HostTensor>{operands[0]};
}

SmallVector<Value> StopGradientOp::decompose(OpBuilder &) {
  return {getInput()};
}
