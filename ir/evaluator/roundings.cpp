// Rounding as random moves of operands and results; see roundings.h.

#include "ir/evaluator/roundings.h"

#include "ir/attention_sizes.h"
#include "ir/op_costs.h"
#include "ir/rounded.h"
#include "ir/scalar_ops.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

double gradus::roundingUnit(Type element) {
  auto type = dyn_cast<FloatType>(element);
  return type ? std::ldexp(1.0, -int(type.getFPMantissaWidth())) : 0;
}

//===-- ops ---------------------------------------------------------------===//

/// Whether an op gives numbers that no rounding has moved.
static bool isExact(Operation &op) {
  const ScalarOp *scalar = scalarOp(&op);
  return op.hasTrait<ReturnsExactNumbers>() ||
         op.hasTrait<OpTrait::ConstantLike>() || (scalar && scalar->isExact);
}

//===-- values ------------------------------------------------------------===//

void gradus::settleTo(Type element, HostTensor &tensor) {
  auto type = dyn_cast<FloatType>(element);
  if (!type || type.getWidth() > 32)
    return;
  for (double &number : tensor.floats)
    if (type.getWidth() < 32)
      number = rounded(number, type);
    else if (std::isinf(static_cast<float>(number)))
      number = std::copysign(INFINITY, number);
}

void Roundings::move(HostTensor &tensor, double part) {
  for (double &number : tensor.floats)
    if (bool isUp = draw_() >> 63; std::isfinite(number))
      number *= isUp ? 1 + part : 1 - part;
}

/// The unit to which matmuls inside an attention round, beside its f32: what is
/// between two of them is as far off as if the other operand had moved so. 0
/// for those that read no bf16, and for operands that are no factors.
static double unitInside(Operation &op, unsigned operand) {
  bool isFactor = operand < 3;
  if (auto backward = dyn_cast<AttentionBackwardOp>(op))
    isFactor |= operand == backward.getGradientMutable().getOperandNumber();
  else if (!isa<AttentionOp>(op))
    return 0;
  return isFactor && readsPairs(op.getOperand(0), op.getOperand(1),
                                op.getOperand(2))
             ? roundingUnit(BFloat16Type::get(op.getContext()))
             : 0;
}

void Roundings::operands(Operation &op, MutableArrayRef<HostTensor> tensors) {
  if (isExact(op))
    return;
  // Sums of 16-bit products are f32.
  double unit = roundingUnit(Float32Type::get(op.getContext()));
  for (Value result : op.getResults())
    if (getElementTypeOrSelf(result).isF64())
      unit = roundingUnit(getElementTypeOrSelf(result));
  double part = std::min(summedTerms(op) * unit, 1.0);
  for (auto [i, tensor] : llvm::enumerate(tensors))
    move(tensor, std::max(part, unitInside(op, i)));
}

void Roundings::made(Value value, HostTensor &tensor) {
  // The results of an op with a body were moved where the body made them.
  if (Operation *op = value.getDefiningOp();
      op && !isExact(*op) && op->getNumRegions() == 0)
    move(tensor, roundingUnit(getElementTypeOrSelf(value)));
}
