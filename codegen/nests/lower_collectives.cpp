// Lowers collectives to a command that begins each and one that waits for it.
// The schedule moves the two apart.

#include "codegen/nests/lower_to_nests.h"
#include "codegen/plan/plan_ops.h"

namespace gradus {

using namespace mlir;

namespace {

/// Whether the sum may be made in the memory of the value: a command makes it,
/// and nothing else reads it, under another shape either.
bool isOwn(Value value) {
  while (value.hasOneUse()) {
    auto reshape = value.getDefiningOp<ReshapeOp>();
    if (!reshape)
      return value.getDefiningOp() &&
             !isa<ReadOp, arith::ConstantOp>(value.getDefiningOp());
    value = reshape.getInput();
  }
  return false;
}

Value copyOf(OpBuilder &builder, Location location, Value value) {
  Domain domain(builder.getContext());
  auto type = cast<RankedTensorType>(value.getType());
  auto position = domain.parallel(type.getShape());
  plan::NestOp copy =
      elementwiseNest(builder, location, domain, position, type,
                      NestRead{value, domain.thenMap(position), {}}, passOn);
  setLabel(copy, "copy");
  return copy.getResult(0);
}

/// The number of collectives that the block begins before the op.
int64_t numberOf(Operation *op) {
  int64_t number = 0;
  for (Operation &each : *op->getBlock()) {
    if (&each == op)
      break;
    number += isa<plan::StartOp>(each);
  }
  return number;
}

} // namespace

SmallVector<Value> lowerCollective(OpBuilder &builder, Operation *op) {
  auto sum = dyn_cast<AllReduceOp>(op);
  if (!sum)
    return {};
  SmallVector<Value> operands;
  for (Value operand : sum.getOperands())
    operands.push_back(isOwn(operand) ? operand
                                      : copyOf(builder, op->getLoc(), operand));
  auto none = RankedTensorType::get({0}, builder.getI8Type());
  int64_t number = numberOf(op);
  auto start =
      plan::StartOp::create(builder, op->getLoc(), none, operands, number);
  auto finish =
      plan::FinishOp::create(builder, op->getLoc(), sum.getResultTypes(),
                             start.getToken(), operands, number);
  return SmallVector<Value>(finish.getResults());
}

} // namespace gradus
