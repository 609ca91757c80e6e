// ONNX activations with parameters. Those that we have no op for are built from
// arith and math, so that their gradients follow.

#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/fake_quantize.h"
#include "frontends/onnx/operators/operators.h"

#include <cmath>
#include <limits>

namespace gradus::onnx {
namespace {

using namespace mlir;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Formulas of the node's input, at its location.
struct Formula : Arithmetic {
  Formula(OpBuilder &builder, Location loc, Value x)
      : Arithmetic(builder, loc), x(x) {}

  Value number(double value) const { return Arithmetic::number(value, x); }
  Value clip(Value a, double low, double high) const {
    Builder &b = builder;
    return make<ClipOp>(a.getType(), a, b.getF64FloatAttr(low),
                        b.getF64FloatAttr(high));
  }
  // These two select by `a > 0` instead of clipping or taking the absolute
  // value, whose slopes at 0 would replace those of the smooth function.

  /// exp(a) - 1 for a up to 0 and 0 above, so that nothing overflows.
  Value negativeExpM1(Value a) const {
    return make<math::ExpM1Op>(select(greater(a, number(0)), number(0), a));
  }
  /// log(1 + exp(a)) = max(a, 0) + log(1 + exp(-|a|))
  Value softplus(Value a) const {
    Value positive = greater(a, number(0));
    Value power = exponential(select(positive, negate(a), a));
    return add(select(positive, a, number(0)), make<math::Log1pOp>(power));
  }

  Value x;
};

using Activation = Value (*)(const Node &, const Formula &);

/// Builds an op with one float input.
template <Activation activation>
absl::Status build(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  if (!isa<FloatType>(tensorType(input).getElementType()))
    return node.error("its input \"", node.input(0).str(),
                      "\" holds no floats");
  Formula formula{importer.builder, importer.location(node), input};
  return importer.define(node, 0, activation(node, formula));
}

//===-- piecewise linear --------------------------------------------------===//

Value leakyRelu(const Node &node, const Formula &f) {
  return f.make<LeakyReluOp>(
      f.x.getType(), f.x,
      Builder(f.builder).getF64FloatAttr(node.number("alpha", 0.01)));
}

Value thresholdedRelu(const Node &node, const Formula &f) {
  Value threshold = f.number(node.number("alpha", 1));
  return f.select(f.greater(f.x, threshold), f.x, f.number(0));
}

/// max(0, min(1, alpha x + beta))
Value hardSigmoid(const Node &node, const Formula &f) {
  double alpha = node.number("alpha", 0.2), beta = node.number("beta", 0.5);
  return f.clip(f.add(f.scale(alpha, f.x), f.number(beta)), 0, 1);
}

/// x max(0, min(1, x / 6 + 1 / 2))
Value hardSwish(const Node &, const Formula &f) {
  Value line = f.add(f.scale(1.0 / 6, f.x), f.number(0.5));
  return f.multiply(f.x, f.clip(line, 0, 1));
}

/// Subtracts or adds bias where |x| > lambda; 0 between.
Value shrink(const Node &node, const Formula &f) {
  double lambda = node.number("lambd", 0.5), bias = node.number("bias", 0);
  Value below = f.greater(f.number(-lambda), f.x);
  Value above = f.greater(f.x, f.number(lambda));
  Value inner = f.select(above, f.subtract(f.x, f.number(bias)), f.number(0));
  return f.select(below, f.add(f.x, f.number(bias)), inner);
}

//===-- exponential -------------------------------------------------------===//

/// x > 0 ? x : alpha (exp(x / width) - 1), times gamma
Value exponential(const Formula &f, double alpha, double width, double gamma) {
  Value left = f.scale(gamma * alpha, f.negativeExpM1(f.scale(1 / width, f.x)));
  Value right = gamma == 1 ? f.x : f.scale(gamma, f.x);
  return f.select(f.greater(f.x, f.number(0)), right, left);
}

Value elu(const Node &node, const Formula &f) {
  return exponential(f, node.number("alpha", 1), 1, 1);
}

Value celu(const Node &node, const Formula &f) {
  double alpha = node.number("alpha", 1);
  return exponential(f, alpha, alpha, 1);
}

/// The attributes of a Selu that has none.
constexpr double kSeluAlpha = 1.67326319217681884765625,
                 kSeluGamma = 1.05070102214813232421875;

Value selu(const Node &node, const Formula &f) {
  return exponential(f, node.number("alpha", kSeluAlpha), 1,
                     node.number("gamma", kSeluGamma));
}

Value softplus(const Node &, const Formula &f) { return f.softplus(f.x); }

/// The logarithm. The logarithm of a sigmoid avoids the zero that the sigmoid
/// may round to, as in PyTorch.
Value log(const Node &, const Formula &f) {
  auto sigmoid = f.x.getDefiningOp<SigmoidOp>();
  if (!sigmoid)
    return f.logarithm(f.x);
  Value negated = f.negate(sigmoid.getInput());
  return f.negate(f.softplus(negated));
}

Value softsign(const Node &, const Formula &f) {
  return f.divide(f.x, f.add(f.number(1), f.absolute(f.x)));
}

Value mish(const Node &, const Formula &f) {
  return f.multiply(f.x, f.make<math::TanhOp>(f.softplus(f.x)));
}

/// x sigmoid(alpha x)
Value swish(const Node &node, const Formula &f) {
  double alpha = node.number("alpha", 1);
  Value scaled = alpha == 1 ? f.x : f.scale(alpha, f.x);
  return f.multiply(f.x, f.make<SigmoidOp>(scaled.getType(), scaled));
}

/// a sigmoid(alpha a) b
absl::Status swiglu(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value gate, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value value, importer.value(node, 1));
  if (gate.getType() != value.getType() ||
      !isa<FloatType>(tensorType(gate).getElementType()))
    return node.error("expected floats of one shape and type");
  Formula f{importer.builder, importer.location(node), gate};
  return importer.define(node, 0, f.multiply(swish(node, f), value));
}

//===-- clip, PRelu -------------------------------------------------------===//

/// Returns the constant that an input gives as a limit; null if it is left out.
absl::StatusOr<const HostTensor *> limitOf(Importer &importer, const Node &node,
                                           int input, const char *key,
                                           bool isFloat) {
  if (node.input(input).empty())
    return nullptr;
  const Constant *constant = importer.constant(node, input);
  if (!constant || constant->tensor.size() != 1)
    return node.error("its ", key, " \"", node.input(input).str(),
                      "\" is not one number");
  if (constant->tensor.isFloat != isFloat)
    return node.error("its ", key, " \"", node.input(input).str(),
                      "\" is of another type than its input");
  return &constant->tensor;
}

/// Reads a limit from an attribute (before opset 11) or an input.
absl::StatusOr<double> limit(Importer &importer, const Node &node, int input,
                             const char *key, double otherwise) {
  if (node.opset() < 11)
    return node.number(key, otherwise);
  GRADUS_ASSIGN_OR_RETURN(const HostTensor *given,
                          limitOf(importer, node, input, key, true));
  return given ? given->floats[0] : otherwise;
}

template <typename SignedOp, typename UnsignedOp>
Value extremum(OpBuilder &builder, Location location, Value a, Value b,
               bool isUnsigned) {
  return isUnsigned ? Value(UnsignedOp::create(builder, location, a, b))
                    : Value(SignedOp::create(builder, location, a, b));
}

/// Keeps the gradient inside the limits of clipped integers: quantizers with
/// fewer steps than their type has (7 bits of 8) clip them.
void keepFloats(const Building &b, const HostTensor *low,
                const HostTensor *high) {
  Value floats = b.importer.asFloats(b.node, 0);
  if (!floats)
    return;
  Range range{low ? double(low->integers[0]) : -kInfinity,
              high ? double(high->integers[0]) : kInfinity};
  b.importer.setFloats(b.node, 0, straightThrough(b, floats, floats, range));
}

/// Clips integers; their limits need not be exact as double.
absl::Status clipIntegers(Importer &importer, const Node &node, Value input) {
  OpBuilder &builder = importer.builder;
  Location location = importer.location(node);
  RankedTensorType type = tensorType(input);
  bool isUnsigned = importer.isUnsigned(node, 0);
  auto boundOf = [&](const HostTensor &given) -> Value {
    APInt number(64, given.integers[0], /*isSigned=*/true);
    auto each = builder.getIntegerAttr(
        type.getElementType(),
        number.sextOrTrunc(type.getElementTypeBitWidth()));
    return arith::ConstantOp::create(builder, location,
                                     SplatElementsAttr::get(type, each));
  };
  GRADUS_ASSIGN_OR_RETURN(const HostTensor *low,
                          limitOf(importer, node, 1, "min", false));
  GRADUS_ASSIGN_OR_RETURN(const HostTensor *high,
                          limitOf(importer, node, 2, "max", false));
  Value result = input;
  if (low)
    result = extremum<arith::MaxSIOp, arith::MaxUIOp>(
        builder, location, result, boundOf(*low), isUnsigned);
  if (high)
    result = extremum<arith::MinSIOp, arith::MinUIOp>(
        builder, location, result, boundOf(*high), isUnsigned);
  GRADUS_RETURN_IF_ERROR(importer.define(node, 0, result));
  keepFloats(Building(importer, node), low, high);
  return absl::OkStatus();
}

/// Whether a limit is given but not a constant.
bool isComputed(Importer &importer, const Node &node, int input) {
  return node.opset() >= 11 && !node.input(input).empty() &&
         !importer.constant(node, input);
}

/// Broadcasts a limit to the input's shape; null if it is left out.
absl::StatusOr<Value> spreadLimit(const Building &b, int input, Value like) {
  if (b.node.input(input).empty())
    return Value();
  GRADUS_ASSIGN_OR_RETURN(Value limit, b.importer.value(b.node, input));
  RankedTensorType type = tensorType(limit);
  if (type.getNumElements() != 1 ||
      type.getElementType() != tensorType(like).getElementType())
    return b.node.error("its limit \"", b.node.input(input).str(),
                        "\" is not one number of its input's type");
  return broadcastScalar(b.builder, b.loc, b.shaped(limit, {}),
                         tensorType(like).getShape());
}

/// Clips by computed limits; the gradient of an element goes to the element or
/// to the limit that replaces it.
absl::Status clipByComputed(Importer &importer, const Node &node, Value input) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value low, spreadLimit(b, 1, input));
  GRADUS_ASSIGN_OR_RETURN(Value high, spreadLimit(b, 2, input));
  bool isFloat = Building::isFloat(input), isUnsigned = b.isUnsigned();
  Value result = input;
  if (low)
    result = isFloat ? b.larger(result, low)
                     : extremum<arith::MaxSIOp, arith::MaxUIOp>(
                           b.builder, b.loc, result, low, isUnsigned);
  if (high)
    result = isFloat ? b.smaller(result, high)
                     : extremum<arith::MinSIOp, arith::MinUIOp>(
                           b.builder, b.loc, result, high, isUnsigned);
  return importer.define(node, 0, result);
}

absl::Status clip(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  if (isComputed(importer, node, 1) || isComputed(importer, node, 2))
    return clipByComputed(importer, node, input);
  if (!isa<FloatType>(tensorType(input).getElementType()))
    return clipIntegers(importer, node, input);
  GRADUS_ASSIGN_OR_RETURN(double low,
                          limit(importer, node, 1, "min", -kInfinity));
  GRADUS_ASSIGN_OR_RETURN(double high,
                          limit(importer, node, 2, "max", kInfinity));
  Formula formula{importer.builder, importer.location(node), input};
  return importer.define(node, 0, formula.clip(input, low, high));
}

/// x > 0 ? x : slope x; an unsigned x is never below 0.
Value slopedBelowZero(const Building &b, Value x, Value slope) {
  if (b.isUnsigned())
    return x;
  Value zero = b.number(0, x);
  Value isAbove = Building::isFloat(x)
                      ? b.compare(arith::CmpFPredicate::OGT, x, zero)
                      : b.compare(arith::CmpIPredicate::sgt, x, zero);
  return b.select(isAbove, x, b.multiply(slope, x));
}

/// x > 0 ? x : slope x, where the slope broadcasts to the input.
absl::Status prelu(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value slope, importer.value(node, 1));
  Building b(importer, node);
  if (tensorType(slope).getElementType() != tensorType(input).getElementType())
    return node.error("its slope is of another type than its input");
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  if (node.opset() < 7 && shape.size() > 1 &&
      tensorType(slope).getRank() == 1 &&
      tensorType(slope).getDimSize(0) == shape[1]) { // one for each channel
    SmallVector<int64_t> channels(shape.size() - 1, 1);
    channels[0] = shape[1];
    slope = b.shaped(slope, channels);
  }
  auto common = commonShape(shape, tensorType(slope).getShape());
  if (!common.ok() || ArrayRef<int64_t>(*common) != shape)
    return node.error("its slope of shape [",
                      joined(tensorType(slope).getShape()),
                      "] does not fit an input of shape [", joined(shape), "]");
  slope = broadcastLast(b.builder, b.loc, slope, shape);
  return importer.define(node, 0, slopedBelowZero(b, input, slope));
}

//===-- export ------------------------------------------------------------===//

absl::Status writeClip(const OpWriter &w, const char *node) {
  auto clip = cast<ClipOp>(w.op);
  auto limit = [&](const APFloat &number) {
    return number.isInfinity() ? "" : w.number(number.convertToDouble());
  };
  Names inputs = {w.input(0), limit(clip.getLow()), limit(clip.getHigh())};
  while (inputs.back().empty())
    inputs.pop_back();
  return w.define(node, inputs);
}

absl::Status writeLeakyRelu(const OpWriter &w, const char *node) {
  double slope = cast<LeakyReluOp>(w.op).getSlope().convertToDouble();
  return w.define(node, {w.input(0)}, {attribute("alpha", slope)});
}

/// Whether a value is `x > 0`.
bool isAboveZero(Value value, Value x) {
  auto compare = value.getDefiningOp<arith::CmpFOp>();
  return compare && compare.getPredicate() == arith::CmpFPredicate::OGT &&
         compare.getLhs() == x && isNumber(compare.getRhs(), 0);
}

/// The x of log(1 + exp(x)), as softplus() writes it; null for other values.
Value softplusInput(Operation *op) {
  auto sum = dyn_cast<arith::AddFOp>(op);
  auto above = sum ? sum.getLhs().getDefiningOp<arith::SelectOp>() : nullptr;
  auto log = sum ? sum.getRhs().getDefiningOp<math::Log1pOp>() : nullptr;
  auto power = log ? log.getOperand().getDefiningOp<math::ExpOp>() : nullptr;
  auto size =
      power ? power.getOperand().getDefiningOp<arith::SelectOp>() : nullptr;
  if (!above || !size)
    return {};
  Value x = above.getTrueValue();
  auto negated = size.getTrueValue().getDefiningOp<arith::NegFOp>();
  // The negative of a negative is folded.
  auto own = x.getDefiningOp<arith::NegFOp>();
  bool isNegative = (negated && negated.getOperand() == x) ||
                    (own && own.getOperand() == size.getTrueValue());
  return isNegative && size.getFalseValue() == x &&
                 isNumber(above.getFalseValue(), 0) &&
                 isAboveZero(above.getCondition(), x) &&
                 isAboveZero(size.getCondition(), x)
             ? x
             : Value();
}

bool isSoftplus(Operation *op) { return bool(softplusInput(op)); }

absl::Status writeSoftplus(const OpWriter &w, const char *node) {
  return w.define(node, {w.graph.nameOf(softplusInput(w.op))});
}

/// A value as `factor` times another.
std::pair<Value, double> withoutFactor(Value value) {
  if (auto product = value.getDefiningOp<arith::MulFOp>())
    if (std::optional<double> factor = numberOf(product.getRhs()))
      return {product.getLhs(), *factor};
  return {value, 1};
}

/// The parts of x > 0 ? right x : left (exp(inner x) - 1).
struct Exponential {
  Value x;
  double right, left, inner;
};

std::optional<Exponential> exponentialOf(Operation *op) {
  auto select = dyn_cast<arith::SelectOp>(op);
  if (!select)
    return std::nullopt;
  auto [power, left] = withoutFactor(select.getFalseValue());
  auto minusOne = power.getDefiningOp<math::ExpM1Op>();
  auto negative = minusOne
                      ? minusOne.getOperand().getDefiningOp<arith::SelectOp>()
                      : nullptr;
  if (!negative || !isNumber(negative.getTrueValue(), 0) ||
      !isAboveZero(negative.getCondition(), negative.getFalseValue()))
    return std::nullopt;
  auto compare = select.getCondition().getDefiningOp<arith::CmpFOp>();
  Value x = compare ? compare.getLhs() : Value();
  if (!x || !isAboveZero(select.getCondition(), x))
    return std::nullopt;
  Value scaled = negative.getFalseValue(), plain = select.getTrueValue();
  auto [narrow, inner] =
      scaled == x ? std::pair(scaled, 1.0) : withoutFactor(scaled);
  auto [wide, right] =
      plain == x ? std::pair(plain, 1.0) : withoutFactor(plain);
  if (narrow != x || wide != x || (right != 1 && inner != 1))
    return std::nullopt;
  return Exponential{x, right, left, inner};
}

template <bool hasInner, bool hasRight> bool isExponential(Operation *op) {
  std::optional<Exponential> found = exponentialOf(op);
  return found && (found->inner != 1) == hasInner &&
         (found->right != 1) == hasRight &&
         (!hasInner || float(1 / found->left) == float(found->inner));
}

/// ONNX has Celu of f32 alone.
bool isCelu(Operation *op) {
  return getElementTypeOrSelf(op->getResult(0)).isF32() &&
         isExponential<true, false>(op);
}

/// Celu's width is its alpha, too.
absl::Status writeElu(const OpWriter &w, const char *node) {
  Exponential found = *exponentialOf(w.op);
  return w.define(node, {w.graph.nameOf(found.x)},
                  {attribute("alpha", found.left)});
}

absl::Status writeSelu(const OpWriter &w, const char *node) {
  Exponential found = *exponentialOf(w.op);
  bool isUsual = float(found.left) == float(kSeluGamma * kSeluAlpha) &&
                 float(found.right) == float(kSeluGamma);
  return w.define(
      node, {w.graph.nameOf(found.x)},
      {attribute("alpha", isUsual ? kSeluAlpha : found.left / found.right),
       attribute("gamma", isUsual ? kSeluGamma : found.right)});
}

/// log(1 + x) = log(u) (x / (u - 1)) with the rounded u = 1 + x, which is as
/// accurate as the logarithm (Goldberg, "What Every Computer Scientist Should
/// Know About Floating-Point Arithmetic", theorem 4).
absl::Status writeLog1p(const OpWriter &w, const char *node) {
  std::string x = w.input(0), one = w.number(1);
  std::string u = w.node("Add", {x, one});
  std::string ratio = w.node("Div", {x, w.node("Sub", {u, one})});
  std::string log = w.node("Mul", {w.node("Log", {u}), ratio});
  std::string isItself = w.node(
      "Or", {w.node("Equal", {u, one}), w.isInfinite(u, /*isPositive=*/true)});
  return w.define(node, {isItself, x, log});
}

/// exp(x) - 1 = tanh(x / 2) (exp(x) + 1)
absl::Status writeExpM1(const OpWriter &w, const char *node) {
  std::string x = w.input(0);
  std::string half = w.node("Tanh", {w.node("Mul", {x, w.number(0.5)})});
  return w.define(node,
                  {half, w.node("Add", {w.node("Exp", {x}), w.number(1)})});
}

const Operator kOperators[] = {
    {"LeakyRelu", {6, "X"}, build<leakyRelu>},
    {"ThresholdedRelu", {10, "X"}, build<thresholdedRelu>},
    {"HardSigmoid", {6, "X"}, build<hardSigmoid>},
    {"HardSwish", {14, "X"}, build<hardSwish>},
    {"Shrink", {9, "input", "integers"}, build<shrink>},
    {"Elu", {6, "X"}, build<elu>},
    {"Celu", {12, "X"}, build<celu>},
    {"Selu", {6, "X"}, build<selu>},
    {"Softplus", {6, "X"}, build<softplus>},
    {"Log", {6, "input"}, build<log>},
    {"Softsign", {6, "input"}, build<softsign>},
    {"Mish", {18, "X"}, build<mish>},
    {"Swish", {24, "X"}, build<swish>},
    {"SwiGLU", {28, "A, B"}, swiglu},
    {"Clip", {6, "input, min, max"}, clip},
    {"PRelu", {6, "X, slope"}, prelu},
};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"gradus.clip", "Clip", writeClip},
    {"gradus.leaky_relu", "LeakyRelu", writeLeakyRelu},
    {"arith.addf", "Softplus", writeSoftplus, isSoftplus},
    {"arith.select", "Elu", writeElu, isExponential<false, false>},
    {"arith.select", "Celu", writeElu, isCelu},
    {"arith.select", "Selu", writeSelu, isExponential<false, true>},
    {"math.log", "Log", same},
    {"math.log1p", "Where", writeLog1p},
    {"math.expm1", "Mul", writeExpM1},
};

} // namespace

llvm::ArrayRef<Operator> activationOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> activationExports() { return kExports; }

} // namespace gradus::onnx
