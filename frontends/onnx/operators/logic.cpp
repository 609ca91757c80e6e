// ONNX ops that compare, select and combine booleans, and arithmetic with any
// number of inputs.

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/operators.h"

#include <limits>

namespace gradus::onnx {

using namespace mlir;

Value Building::ordered(Value value, bool isUnsigned) const {
  if (!isUnsigned)
    return value;
  unsigned width = tensorType(value).getElementTypeBitWidth();
  Attribute top = builder.getIntegerAttr(tensorType(value).getElementType(),
                                         APInt::getSignMask(width));
  Value mask = arith::ConstantOp::create(
      builder, loc, SplatElementsAttr::get(tensorType(value), top));
  return make<arith::XOrIOp>(value, mask);
}

static std::string wordsOf(Type type) {
  std::string words;
  llvm::raw_string_ostream(words) << type;
  return words;
}

absl::Status checkElements(const Importer &importer, const Node &node,
                           bool floats) {
  Type first;
  for (int input = 0; input < node.inputCount(); ++input) {
    if (node.input(input).empty())
      continue;
    GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, importer.type(node, input));
    Type element = type.getElementType();
    if (isa<FloatType>(element) != floats)
      return node.error("its input \"", node.input(input).str(),
                        floats ? "\" holds no floats" : "\" holds no integers");
    first = first ? first : element;
    if (element != first)
      return node.error("its inputs have the different element types ",
                        wordsOf(first), " and ", wordsOf(element));
  }
  return absl::OkStatus();
}

namespace {

//===-- broadcast operands ------------------------------------------------===//

absl::Status checkSameElement(const Node &node, Value a, Value b) {
  Type left = tensorType(a).getElementType(),
       right = tensorType(b).getElementType();
  if (left == right)
    return absl::OkStatus();
  return node.error("its inputs have the different element types ",
                    wordsOf(left), " and ", wordsOf(right));
}

/// Broadcasts the values to their common shape.
absl::Status broadcastAll(const Building &b, MutableArrayRef<Value> values) {
  SmallVector<int64_t> shape;
  for (Value value : values) {
    absl::StatusOr<SmallVector<int64_t>> common =
        commonShape(shape, tensorType(value).getShape());
    if (!common.ok())
      return b.node.error(common.status().message());
    shape = *common;
  }
  for (Value &value : values)
    value = broadcastLast(b.builder, b.loc, value, shape);
  return absl::OkStatus();
}

/// The inputs from `first` on, with one element type and shape.
absl::StatusOr<SmallVector<Value>> operands(const Building &b, int first = 0) {
  SmallVector<Value> values;
  for (int i = first; i < b.node.inputCount(); ++i) {
    GRADUS_ASSIGN_OR_RETURN(values.emplace_back(), b.importer.value(b.node, i));
    GRADUS_RETURN_IF_ERROR(
        checkSameElement(b.node, values.front(), values.back()));
  }
  if (values.empty())
    return b.node.error("has no inputs");
  GRADUS_RETURN_IF_ERROR(broadcastAll(b, values));
  return values;
}

absl::StatusOr<SmallVector<Value>> twoOperands(const Building &b) {
  if (b.node.inputCount() != 2)
    return b.node.error("has ", b.node.inputCount(), " inputs, expected 2");
  return operands(b);
}

//===-- comparisons and truth ---------------------------------------------===//

using IntegerIs = arith::CmpIPredicate;
using FloatIs = arith::CmpFPredicate;

template <FloatIs ofFloats, IntegerIs ofSigned, IntegerIs ofUnsigned>
absl::Status comparison(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(SmallVector<Value> values, twoOperands(b));
  if (Building::isFloat(values[0]))
    return importer.define(node, 0, b.compare(ofFloats, values[0], values[1]));
  bool isUnsigned =
      b.isUnsigned() || tensorType(values[0]).getElementType().isInteger(1);
  return importer.define(
      node, 0,
      b.compare(isUnsigned ? ofUnsigned : ofSigned, values[0], values[1]));
}

template <typename Op>
absl::Status logical(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(SmallVector<Value> values, twoOperands(b));
  if (!tensorType(values[0]).getElementType().isInteger(1))
    return node.error("its inputs are not boolean");
  return importer.define(node, 0, b.make<Op>(values[0], values[1]));
}

absl::Status logicalNot(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value value, importer.value(node, 0));
  if (!tensorType(value).getElementType().isInteger(1))
    return node.error("its input is not boolean");
  return importer.define(node, 0,
                         b.make<arith::XOrIOp>(value, b.number(1, value)));
}

absl::Status where(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value condition, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value x, importer.value(node, 1));
  GRADUS_ASSIGN_OR_RETURN(Value y, importer.value(node, 2));
  if (!tensorType(condition).getElementType().isInteger(1))
    return node.error("its condition is not boolean");
  if (tensorType(x).getElementType() != tensorType(y).getElementType())
    return node.error("its two values differ in type");
  Value values[] = {condition, x, y};
  GRADUS_RETURN_IF_ERROR(broadcastAll(b, values));
  return importer.define(node, 0, b.select(values[0], values[1], values[2]));
}

absl::Status isNan(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value value, importer.value(node, 0));
  if (!Building::isFloat(value))
    return node.error("its input holds no floats");
  return importer.define(node, 0, b.make<math::IsNaNOp>(value));
}

/// Finds infinities of the signs that attributes choose.
absl::Status isInfinite(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value value, importer.value(node, 0));
  if (!Building::isFloat(value))
    return node.error("its input holds no floats");
  auto equals = [&](const char *key, double sign) {
    double bound = node.integer(key, 1) ? sign * INFINITY : NAN;
    return b.compare(FloatIs::OEQ, value, b.number(bound, value));
  };
  return importer.define(node, 0,
                         b.make<arith::OrIOp>(equals("detect_positive", 1),
                                              equals("detect_negative", -1)));
}

//===-- arithmetic --------------------------------------------------------===//

/// Combines the inputs from the left.
template <typename FloatOp, typename IntegerOp, typename UnsignedOp = IntegerOp>
absl::Status combined(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(SmallVector<Value> values, operands(b));
  Value result = values[0];
  for (Value value : llvm::drop_begin(values))
    result = b.isUnsigned() ? b.make<UnsignedOp>(result, value)
                            : b.either<FloatOp, IntegerOp>(result, value);
  return importer.define(node, 0, result);
}

/// Whether exporters wrote the node for a clamp, whose gradient is 0 at its
/// limit, and not for a maximum, which shares it. torch.export names the last
/// node of a clamp so and leaves the one before unnamed.
bool isClamp(const Node &node) {
  std::string name = node.name();
  return StringRef(name).contains("clamp") ||
         node.output(0).contains("clamp") ||
         StringRef(name).starts_with("node_" + node.type() + "_");
}

/// The constant limit and the number of the other input, of two float inputs;
/// nothing if there is none.
std::optional<std::pair<int, double>> limitOf(Importer &importer,
                                              const Node &node) {
  for (int input : {1, 0}) {
    const Constant *limit = importer.constant(node, input);
    if (node.inputCount() == 2 && isClamp(node) && limit &&
        limit->tensor.isFloat && limit->tensor.shape.empty())
      return std::pair(1 - input, limit->tensor.floats[0]);
  }
  return std::nullopt;
}

/// The maximum of the inputs, or with `sign` -1 the minimum.
template <int sign, typename... Ops>
absl::Status extremum(Importer &importer, const Node &node) {
  auto limit = limitOf(importer, node);
  if (!limit)
    return combined<Ops...>(importer, node);
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, limit->first));
  GRADUS_RETURN_IF_ERROR(checkElements(importer, node, /*floats=*/true));
  double infinity = std::numeric_limits<double>::infinity();
  double low = sign > 0 ? limit->second : -infinity,
         high = sign > 0 ? infinity : limit->second;
  return importer.define(node, 0,
                         b.make<ClipOp>(input.getType(), input,
                                        b.builder.getF64FloatAttr(low),
                                        b.builder.getF64FloatAttr(high)));
}

absl::Status meanOfAll(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(SmallVector<Value> values, operands(b));
  Value total = values[0];
  for (Value value : llvm::drop_begin(values))
    total = b.add(total, value);
  Value count = b.number(values.size(), total);
  return importer.define(node, 0, b.divide(total, count));
}

/// x minus a whole multiple of y, between 0 and y.
Value floorModulo(const Building &b, Value x, Value y) {
  Value zero = b.number(0, x);
  auto is = [&](FloatIs predicate, Value value) {
    return b.compare(predicate, value, zero);
  };
  Value rest = b.make<arith::RemFOp>(x, y);
  Value differs =
      b.make<arith::XOrIOp>(is(FloatIs::OLT, rest), is(FloatIs::OLT, y));
  Value moves = b.make<arith::AndIOp>(differs, is(FloatIs::ONE, rest));
  Value result = b.select(moves, b.add(rest, y), rest);
  // Nothing is subtracted if y is infinite.
  Value opposite =
      b.make<arith::XOrIOp>(is(FloatIs::OLT, x), is(FloatIs::OLT, y));
  Value far =
      b.select(b.make<arith::AndIOp>(opposite, is(FloatIs::ONE, x)), y, x);
  Value endless = b.make<arith::AndIOp>(b.make<math::IsInfOp>(y),
                                        b.make<math::IsFiniteOp>(x));
  return b.select(endless, far, result);
}

/// The remainder with the sign of the dividend (fmod) or of the divisor.
absl::Status modulo(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(SmallVector<Value> values, twoOperands(b));
  Value x = values[0], y = values[1];
  bool likeDividend = node.integer("fmod", 0);
  if (Building::isFloat(x))
    return importer.define(node, 0,
                           likeDividend ? b.make<arith::RemFOp>(x, y)
                                        : floorModulo(b, x, y));
  if (b.isUnsigned())
    return importer.define(node, 0, b.make<arith::RemUIOp>(x, y));
  Value rest = b.make<arith::RemSIOp>(x, y), zero = b.number(0, x);
  if (likeDividend)
    return importer.define(node, 0, rest);
  Value differs =
      b.compare(IntegerIs::slt, b.make<arith::XOrIOp>(rest, y), zero);
  Value some = b.compare(IntegerIs::ne, rest, zero);
  Value moves = b.make<arith::AndIOp>(differs, some);
  return importer.define(node, 0, b.select(moves, b.add(rest, y), rest));
}

/// x to a small whole power or a root, without logarithms; null for other
/// exponents.
Value knownPower(const Building &b, Value x, double exponent) {
  if (exponent == 0.5)
    return b.squareRoot(x);
  if (exponent == -0.5)
    return b.make<math::RsqrtOp>(x);
  if (exponent == -1)
    return b.divide(b.number(1, x), x);
  if (exponent != 1 && exponent != 2 && exponent != 3 && exponent != 4)
    return {};
  Value square = exponent > 1 ? b.multiply(x, x) : x;
  return exponent <= 2   ? square
         : exponent == 3 ? b.multiply(square, x)
                         : b.multiply(square, square);
}

/// Integers are raised as floats; the result has the type of the base.
absl::Status power(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value x, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value y, importer.value(node, 1));
  Type element = tensorType(x).getElementType();
  Type real = isa<FloatType>(element) ? element : b.builder.getF64Type();
  Value values[] = {castTo(b, x, real, b.isUnsigned()),
                    castTo(b, y, real, b.isUnsigned(1))};
  GRADUS_RETURN_IF_ERROR(broadcastAll(b, values));
  const Constant *known = importer.constant(node, 1);
  Value result;
  if (known && known->tensor.size() == 1)
    result =
        knownPower(b, values[0],
                   known->tensor.isFloat ? known->tensor.floats[0]
                                         : double(known->tensor.integers[0]));
  if (!result)
    result = b.power(values[0], values[1]);
  return importer.define(node, 0,
                         castTo(b, result, element, false, b.isUnsigned()));
}

template <typename FloatOp>
absl::Status floatFunction(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value value, importer.value(node, 0));
  if (!Building::isFloat(value))
    return node.error("its input \"", node.input(0).str(),
                      "\" holds no floats");
  return importer.define(node, 0, b.make<FloatOp>(value));
}

absl::Status absolute(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value x, importer.value(node, 0));
  if (b.isUnsigned())
    return importer.define(node, 0, x);
  return importer.define(
      node, 0, Building::isFloat(x) ? b.absolute(x) : b.make<math::AbsIOp>(x));
}

absl::Status negated(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value x, importer.value(node, 0));
  return importer.define(node, 0,
                         Building::isFloat(x) ? b.negate(x)
                                              : b.subtract(b.number(0, x), x));
}

absl::Status reciprocal(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value x, importer.value(node, 0));
  if (!Building::isFloat(x))
    return node.error("its input holds no floats");
  return importer.define(node, 0, b.divide(b.number(1, x), x));
}

/// 1, 0 or -1; NaN stays NaN.
absl::Status sign(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value x, importer.value(node, 0));
  Value zero = b.number(0, x), one = b.number(1, x), less = b.number(-1, x);
  if (b.isUnsigned())
    return importer.define(
        node, 0, b.select(b.compare(IntegerIs::eq, x, zero), zero, one));
  if (!Building::isFloat(x)) {
    Value negative = b.select(b.compare(IntegerIs::slt, x, zero), less, zero);
    return importer.define(
        node, 0, b.select(b.compare(IntegerIs::sgt, x, zero), one, negative));
  }
  auto is = [&](FloatIs predicate) { return b.compare(predicate, x, zero); };
  Value rest = b.select(is(FloatIs::OEQ), zero,
                        b.number(std::numeric_limits<double>::quiet_NaN(), x));
  Value negative = b.select(is(FloatIs::OLT), less, rest);
  return importer.define(node, 0, b.select(is(FloatIs::OGT), one, negative));
}

// Booleans are unsigned 0 and 1, hence the unsigned comparisons.
const Operator kOperators[] = {
    {"Equal", {6}, comparison<FloatIs::OEQ, IntegerIs::eq, IntegerIs::eq>},
    {"Greater", {6}, comparison<FloatIs::OGT, IntegerIs::sgt, IntegerIs::ugt>},
    {"GreaterOrEqual",
     {12},
     comparison<FloatIs::OGE, IntegerIs::sge, IntegerIs::uge>},
    {"Less", {6}, comparison<FloatIs::OLT, IntegerIs::slt, IntegerIs::ult>},
    {"LessOrEqual",
     {12},
     comparison<FloatIs::OLE, IntegerIs::sle, IntegerIs::ule>},
    {"And", {6}, logical<arith::AndIOp>},
    {"Or", {6}, logical<arith::OrIOp>},
    {"Xor", {6}, logical<arith::XOrIOp>},
    {"Not", {1}, logicalNot},
    {"Where", {9, "X, Y"}, where},
    {"IsNaN", {9}, isNan},
    {"IsInf", {10}, isInfinite},
    {"Max",
     {6, "data_0"},
     extremum<1, arith::MaximumFOp, arith::MaxSIOp, arith::MaxUIOp>},
    {"Min",
     {6, "data_0"},
     extremum<-1, arith::MinimumFOp, arith::MinSIOp, arith::MinUIOp>},
    {"Sum", {6, "data_0"}, combined<arith::AddFOp, arith::AddIOp>},
    {"Mean", {6, "data_0"}, ofFloats<meanOfAll>},
    {"Mod", {10, "A, B"}, modulo},
    {"Pow", {6, "X, Y"}, power},
    {"Abs", {6, "X"}, absolute},
    {"Neg", {6, "X"}, negated},
    {"Sign", {9}, sign},
    {"Reciprocal", {6, "X"}, reciprocal},
    {"Ceil", {6}, floatFunction<math::CeilOp>},
    {"Floor", {6}, floatFunction<math::FloorOp>},
    {"Round", {11}, floatFunction<math::RoundEvenOp>},
    {"Sin", {7, "input"}, floatFunction<math::SinOp>},
    {"Cos", {7, "input"}, floatFunction<math::CosOp>},
    {"Tan", {7, "input"}, floatFunction<math::TanOp>},
    {"Sinh", {9, "input"}, floatFunction<math::SinhOp>},
    {"Cosh", {9, "input"}, floatFunction<math::CoshOp>},
    {"Asin", {7, "input"}, floatFunction<math::AsinOp>},
    {"Acos", {7, "input"}, floatFunction<math::AcosOp>},
    {"Atan", {7, "input"}, floatFunction<math::AtanOp>},
    {"Asinh", {9, "input"}, floatFunction<math::AsinhOp>},
    {"Acosh", {9, "input"}, floatFunction<math::AcoshOp>},
    {"Atanh", {9, "input"}, floatFunction<math::AtanhOp>},
};

} // namespace

llvm::ArrayRef<Operator> logicOperators() { return kOperators; }

} // namespace gradus::onnx
