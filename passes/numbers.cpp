// Numbers as states; see numbers.h.

#include "passes/numbers.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace gradus;

Value gradus::readNumber(OpBuilder &builder, Location loc, States &states,
                         const recipe::Number &number) {
  auto type = RankedTensorType::get({}, builder.getF64Type());
  bool isOff = number.initial == 0 && number.minimum <= 0;
  if (isOff || !states.isSettable())
    return splat(builder, loc, type, number.initial);
  if (failed(states.ensure(number.path, type, Role::hyperparameter,
                           number.initial)))
    return {};
  states.find(number.path)
      ->setAttr(kRange,
                builder.getDenseF64ArrayAttr(
                    {std::max<double>(number.minimum,
                                      std::numeric_limits<float>::lowest()),
                     number.limit}));
  return readState(builder, loc, number.path, type);
}

Value gradus::readNumber(OpBuilder &builder, Location loc, ProgramOp program,
                         const recipe::Number &number) {
  States states(program);
  return readNumber(builder, loc, states, number);
}

std::optional<double> gradus::knownNumber(Value value) {
  SplatElementsAttr known;
  if (!matchPattern(value, m_Constant(&known)) ||
      !isa<FloatType>(known.getElementType()))
    return std::nullopt;
  return known.getSplatValue<FloatAttr>().getValueAsDouble();
}

Value gradus::spreadLike(const Arithmetic &math, Value scalar, Value like) {
  // arith folds no rounding that loses bits, but it is the one we want here.
  if (auto known = knownNumber(scalar))
    return math.number(*known, like);
  RankedTensorType type = tensorType(like);
  Value rounded =
      convert(math.builder, math.loc, scalar, type.getElementType());
  return broadcastScalar(math.builder, math.loc, rounded, type.getShape());
}

static std::optional<double> initialOf(StateOp state) {
  if (!state || state.getRole() != Role::hyperparameter || !state.getInit())
    return std::nullopt;
  FloatAttr value = state.getInit()->getValue();
  return value ? value.getValueAsDouble() : 0.0;
}

/// Returns the result of an operation of arithmetic on numbers; nothing for
/// other operations.
static std::optional<double> computed(Operation *op, ArrayRef<double> x) {
  if (isa<arith::AddFOp>(op))
    return x[0] + x[1];
  if (isa<arith::SubFOp>(op))
    return x[0] - x[1];
  if (isa<arith::MulFOp>(op))
    return x[0] * x[1];
  if (isa<arith::TruncFOp>(op))
    return static_cast<float>(x[0]);
  if (isa<arith::ExtFOp>(op))
    return x[0];
  return std::nullopt;
}

std::optional<double> gradus::initialValue(const States &states, Value scalar) {
  if (auto known = knownNumber(scalar))
    return known;
  Operation *op = scalar.getDefiningOp();
  if (auto read = dyn_cast_or_null<ReadOp>(op))
    return initialOf(states.find(read.getState()));
  if (!op)
    return std::nullopt;
  SmallVector<double> operands;
  for (Value operand : op->getOperands()) {
    auto known = initialValue(states, operand);
    if (!known)
      return std::nullopt;
    operands.push_back(*known);
  }
  return computed(op, operands);
}
