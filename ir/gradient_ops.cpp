// Ops that stop or redirect gradients: in the forward direction they are their
// input.

#include "ir/gradient_ops.h"

using namespace mlir;
using namespace gradus;

/// A constant has no gradient to stop, nor has another stop.
OpFoldResult StopGradientOp::fold(FoldAdaptor adaptor) {
  if (getSubstitute())
    return {};
  auto inner = getInput().getDefiningOp<StopGradientOp>();
  if (inner && !inner.getSubstitute())
    return getInput();
  return adaptor.getInput();
}

/// The substitute gets the whole gradient, the input none.
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
