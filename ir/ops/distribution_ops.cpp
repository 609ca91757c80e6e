// Collectives: verification, gradients, what one rank computes.

#include "ir/build.h"
#include "ir/evaluator/evaluator.h"

using namespace mlir;
using namespace gradus;

LogicalResult AllReduceOp::verify() {
  if (getOperands().empty())
    return emitOpError("has no operands, expected at least one");
  if (getOperands().getTypes() != getResults().getTypes())
    return emitOpError("has results of other types than its operands");
  for (Type type : getOperands().getTypes())
    if (Type element = cast<RankedTensorType>(type).getElementType();
        !isa<FloatType>(element) && !element.isSignlessInteger(64))
      return emitOpError("sums ") << element << ", expected floats or i64";
  return success();
}

/// What a rank adds to a sum is in the losses of all ranks, so it gets the sum
/// of their gradients.
SmallVector<Value> AllReduceOp::pullback(OpBuilder &builder, ValueRange g) {
  SmallVector<Value> known;
  for (Value gradient : g)
    if (gradient)
      known.push_back(gradient);
  auto sums = AllReduceOp::create(builder, getLoc(), known);
  sums.setAxis(getAxis());
  SmallVector<Value> gradients;
  unsigned next = 0;
  for (Value gradient : g)
    gradients.push_back(gradient ? sums.getResult(next++) : Value());
  return gradients;
}

FailureOr<SmallVector<HostTensor>>
AllReduceOp::evaluate(ArrayRef<HostTensor> operands) {
  return SmallVector<HostTensor>(operands);
}

/// Every rank sends all but its own part of the operands, and then its part of
/// the sums to all others.
double AllReduceOp::getSentBytes(int64_t ranks) {
  double bytes = 0;
  for (Type type : getOperandTypes()) {
    auto tensor = cast<RankedTensorType>(type);
    bytes +=
        double(tensor.getNumElements()) * tensor.getElementTypeBitWidth() / 8;
  }
  return 2 * bytes * (ranks - 1) / ranks;
}

bool AllReduceOp::mayJoin(Operation *other) {
  auto sum = dyn_cast<AllReduceOp>(other);
  return sum && sum.getAxis() == getAxis();
}
