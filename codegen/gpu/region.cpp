// Keeps arith and math ops, which the lowering of kernels supports; only narrow
// floats and integer divisions need special care.

#include "codegen/gpu/region.h"

#include "ir/scalar_ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace gradus;

using Values = GpuBuilder::Values;

Value gradus::widenGpuFloat(GpuBuilder &b, Value value) {
  return isNarrowGpuFloat(value.getType())
             ? b.createOrFold<arith::ExtFOp>(b.getF32Type(), value)
             : value;
}

Value gradus::narrowGpuFloat(GpuBuilder &b, Value value, Type type) {
  return isNarrowGpuFloat(type) && value.getType() != type
             ? b.createOrFold<arith::TruncFOp>(type, value)
             : value;
}

//===-- ops ---------------------------------------------------------------===//

/// Converts between floats of any width, narrow ones by way of f32.
static Value convertFloat(GpuBuilder &b, Value value, Type type) {
  value = widenGpuFloat(b, value);
  Type wide = isNarrowGpuFloat(type) ? b.getF32Type() : type;
  unsigned from = value.getType().getIntOrFloatBitWidth(),
           to = wide.getIntOrFloatBitWidth();
  if (from < to)
    value = b.createOrFold<arith::ExtFOp>(wide, value);
  else if (from > to)
    value = b.createOrFold<arith::TruncFOp>(wide, value);
  return narrowGpuFloat(b, value, type);
}

static Value isEqual(GpuBuilder &b, Value x, int64_t number) {
  Value other =
      arith::ConstantOp::create(b, b.getIntegerAttr(x.getType(), number));
  return b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, x, other);
}

/// Divides as on a CPU: a divisor of 0 is replaced by 1, and -1 cannot
/// overflow.
template <typename Op> static Value divide(GpuBuilder &b, Value x, Value y) {
  constexpr bool isSigned =
      std::is_same_v<Op, arith::DivSIOp> || std::is_same_v<Op, arith::RemSIOp>;
  Type type = x.getType();
  Value one = arith::ConstantOp::create(b, b.getIntegerAttr(type, 1));
  Value zero = arith::ConstantOp::create(b, b.getIntegerAttr(type, 0));
  Value replaced = isEqual(b, y, 0), negative;
  if (isSigned) {
    negative = isEqual(b, y, -1);
    replaced = b.createOrFold<arith::OrIOp>(replaced, negative);
  }
  Value divisor = b.createOrFold<arith::SelectOp>(replaced, one, y);
  Value result = b.createOrFold<Op>(x, divisor);
  if (!std::is_same_v<Op, arith::DivSIOp>)
    return result;
  return b.createOrFold<arith::SelectOp>(
      negative, b.createOrFold<arith::SubIOp>(zero, x), result);
}

static Value divisionOf(GpuBuilder &b, Operation &op, ArrayRef<Value> x) {
  if (isa<arith::DivSIOp>(op))
    return divide<arith::DivSIOp>(b, x[0], x[1]);
  if (isa<arith::DivUIOp>(op))
    return divide<arith::DivUIOp>(b, x[0], x[1]);
  if (isa<arith::RemSIOp>(op))
    return divide<arith::RemSIOp>(b, x[0], x[1]);
  return isa<arith::RemUIOp>(op) ? divide<arith::RemUIOp>(b, x[0], x[1])
                                 : Value();
}

/// Computes isnan, isinf and isfinite by comparisons, since not all lowerings
/// support them; null for other ops.
static Value answerOf(GpuBuilder &b, Operation &op, ArrayRef<Value> operands) {
  bool isNan = isa<math::IsNaNOp>(op);
  if (!isNan && !isa<math::IsInfOp, math::IsFiniteOp>(op))
    return {};
  Value x = widenGpuFloat(b, operands[0]);
  using Is = arith::CmpFPredicate;
  if (isNan)
    return b.createOrFold<arith::CmpFOp>(Is::UNO, x, x);
  auto type = cast<FloatType>(x.getType());
  Value size = b.createOrFold<math::AbsFOp>(x);
  Value infinity = arith::ConstantOp::create(
      b, b.getFloatAttr(type, APFloat::getInf(type.getFloatSemantics())));
  return b.createOrFold<arith::CmpFOp>(
      isa<math::IsInfOp>(op) ? Is::OEQ : Is::ONE, size, infinity);
}

/// Whether an op reads narrow floats as the bits they are. A constant reads
/// none.
static bool takesBits(Operation &op) {
  const ScalarOp *known = scalarOp(&op);
  return !known || known->cost == ScalarCost::move;
}

static Value emitOp(GpuBuilder &b, Operation &op, ArrayRef<Value> operands) {
  Type type = op.getResult(0).getType();
  if (isa<arith::ExtFOp, arith::TruncFOp>(op))
    return convertFloat(b, operands[0], type);
  if (Value quotient = divisionOf(b, op, operands))
    return quotient;
  if (Value answer = answerOf(b, op, operands))
    return answer;
  bool widens = isNarrowGpuFloat(type) && !takesBits(op);
  Operation *copy = b.clone(op);
  b.setInsertionPoint(copy);
  for (auto [i, operand] : llvm::enumerate(operands))
    copy->setOperand(i, takesBits(op) ? operand : widenGpuFloat(b, operand));
  b.setInsertionPointAfter(copy);
  Value result = copy->getResult(0);
  result.setType(widens ? b.getF32Type() : gpuValueType(type));
  return widens ? narrowGpuFloat(b, result, type) : result;
}

Values gradus::emitRegion(GpuBuilder &b, Region &region, ValueRange arguments,
                          function_ref<Value(int64_t)> indexOf) {
  IRMapping known;
  known.map(region.getArguments(), arguments);
  Block &block = region.front();
  for (Operation &op : block.without_terminator()) {
    if (auto index = dyn_cast<plan::IndexOp>(op)) {
      known.map(index.getResult(), b.i64(indexOf(index.getDim())));
      continue;
    }
    Values operands;
    for (Value operand : op.getOperands())
      operands.push_back(known.lookup(operand));
    known.map(op.getResult(0), emitOp(b, op, operands));
  }
  Values yielded;
  for (Value value : block.getTerminator()->getOperands())
    yielded.push_back(known.lookup(value));
  return yielded;
}
