// The gradient rules: how each op passes a gradient from its results back to
// its operands.
//
// There is one short rule per op, in the order of the .td files, then arith and
// math. Each rule is compared with finite differences in
// tests/ir/ops/gradients_test.cpp. In the comments g is the gradient of the
// result y.

#include "ir/arithmetic.h"
#include "ir/external_models.h"

using namespace mlir;
using namespace gradus;

/// Converts to the type to compute in; `narrow` converts back to that of
/// `like`.
static Value wide(const Arithmetic &a, Value x) {
  return convert(a.builder, a.loc, x,
                 computeType(tensorType(x).getElementType()));
}
static Value narrow(const Arithmetic &a, Value x, Value like) {
  return convert(a.builder, a.loc, x, tensorType(like).getElementType());
}
/// A value as it is stored: rounded if a user rounds it, and converted to the
/// type to compute in.
static Value kept(const Arithmetic &a, Value x) {
  for (Operation *user : x.getUsers())
    if (auto round = dyn_cast<arith::TruncFOp>(user))
      if (getElementTypeOrSelf(round.getType()).getIntOrFloatBitWidth() < 32)
        return wide(a, round.getResult());
  return wide(a, x);
}

using Values = SmallVector<Value>;

//===-- tensor ops --------------------------------------------------------===//

Values ReshapeOp::pullback(OpBuilder &builder, ValueRange g) {
  return {reshape(builder, getLoc(), g[0], tensorType(getInput()).getShape())};
}

Values TransposeOp::pullback(OpBuilder &builder, ValueRange g) {
  SmallVector<int64_t> inverse(getPermutation().size());
  for (auto [position, dimension] : llvm::enumerate(getPermutation()))
    inverse[dimension] = position;
  return {transpose(builder, getLoc(), g[0], inverse)};
}

/// Sums over the repeated dimensions.
Values BroadcastOp::pullback(OpBuilder &builder, ValueRange g) {
  RankedTensorType input = tensorType(getInput());
  SmallVector<int64_t> kept;
  for (auto [position, dimension] : llvm::enumerate(getDimensions()))
    if (input.getDimSize(position) == getType().getDimSize(dimension))
      kept.push_back(dimension);
  Value total =
      sum(builder, getLoc(), g[0], axesExcept(getType().getRank(), kept));
  return {reshape(builder, getLoc(), total, input.getShape())};
}

/// The elements equal to the maximum or minimum share the gradient evenly.
static Value gradientOfWinners(ReduceOp op, const Arithmetic &a, Value g) {
  auto over = [&](Value value) {
    return broadcastAlong(a.builder, a.loc, value,
                          tensorType(op.getInput()).getShape(), op.getAxes());
  };
  Value winners = a.equal(op.getInput(), over(op.getResult()));
  Value ones =
      convert(a.builder, a.loc, winners, op.getType().getElementType());
  Value share = a.divide(g, sum(a.builder, a.loc, ones, op.getAxes()));
  return a.select(winners, over(share), a.number(0, op.getInput()));
}

Values ReduceOp::pullback(OpBuilder &builder, ValueRange g) {
  Arithmetic a{builder, getLoc()};
  if (getKind() == Reduction::max || getKind() == Reduction::min)
    return {gradientOfWinners(*this, a, g[0])};
  RankedTensorType input = tensorType(getInput());
  double part = double(getType().getNumElements()) / input.getNumElements();
  Value each = getKind() == Reduction::mean ? a.scale(part, g[0]) : g[0];
  return {broadcastAlong(builder, getLoc(), each, input.getShape(), getAxes())};
}

/// For y = A B: A gets g B', B gets A' g; a transposed operand gets the
/// transpose. For narrow operands the gradients are rounded last, so that a
/// parameter's gradient can be used unrounded.
Values MatmulOp::pullback(OpBuilder &builder, ValueRange g) {
  Location loc = getLoc();
  Value a = getA(), b = getB();
  bool ta = getTransposeA(), tb = getTransposeB();
  Type element = tensorType(a).getElementType();
  Value gy = convert(builder, loc, g[0], element);
  auto narrowMatmul = [&](Value left, Value right, bool tl, bool tr) {
    Value wide =
        matmul(builder, loc, left, right, tl, tr, computeType(element));
    return convert(builder, loc, wide, element);
  };
  return {ta ? narrowMatmul(b, gy, tb, true) : narrowMatmul(gy, b, false, !tb),
          tb ? narrowMatmul(gy, a, true, ta) : narrowMatmul(a, gy, !ta, false)};
}

/// Asks the result, not the input: the result is kept for the next layer
/// anyway.
Values ReluOp::pullback(OpBuilder &builder, ValueRange g) {
  Arithmetic a{builder, getLoc()};
  Value zero = a.number(0, getInput());
  return {a.select(a.greater(getResult(), zero), g[0], zero)};
}

/// The gradient is g y (1 - y).
Values SigmoidOp::pullback(OpBuilder &builder, ValueRange g) {
  Arithmetic a{builder, getLoc()};
  Value y = kept(a, getResult());
  Value slope = a.multiply(y, a.subtract(a.number(1, y), y));
  return {narrow(a, a.multiply(wide(a, g[0]), slope), g[0])};
}

/// The slope is Phi(x) + x phi(x), with the normal distribution Phi and its
/// density phi.
static Value geluSlope(const Arithmetic &a, Value x) {
  Value erf = a.make<math::ErfOp>(a.scale(0.7071067811865476, x)); // 1/sqrt(2)
  Value distribution = a.scale(0.5, a.add(a.number(1, x), erf));
  Value power = a.exponential(a.scale(-0.5, a.multiply(x, x)));
  Value density = a.scale(0.3989422804014327, power); // 1/sqrt(2 pi)
  return a.add(distribution, a.multiply(x, density));
}

/// The slope is (1 + t + x (1 - t^2) u') / 2, with t = tanh u, u = c (x + k
/// x^3).
static Value geluTanhSlope(const Arithmetic &a, Value x) {
  const double c = 0.7978845608028654, k = 0.044715; // c = sqrt(2/pi)
  Value one = a.number(1, x), square = a.multiply(x, x);
  Value u = a.scale(c, a.add(x, a.scale(k, a.multiply(square, x))));
  Value t = a.make<math::TanhOp>(u);
  Value slope = a.scale(c, a.add(one, a.scale(3 * k, square)));
  Value rest =
      a.multiply(a.multiply(x, a.subtract(one, a.multiply(t, t))), slope);
  return a.scale(0.5, a.add(a.add(one, t), rest));
}

Values GeluOp::pullback(OpBuilder &builder, ValueRange g) {
  Arithmetic a{builder, getLoc()};
  Value x = getInput();
  return {a.multiply(g[0], getTanh() ? geluTanhSlope(a, x) : geluSlope(a, x))};
}

//===-- convolution -------------------------------------------------------===//
// y = x * w is linear in x and in w, and so are its two gradients: each of the
// three ops is expressed by the other two.

/// Builds another op of the family, with the attributes of `op`. Sums of narrow
/// elements are rounded last.
template <typename Result, typename Op>
static Value sibling(OpBuilder &builder, Op op, Type type, Value first,
                     Value second) {
  auto tensor = cast<RankedTensorType>(type);
  Type element = tensor.getElementType();
  first = convert(builder, op.getLoc(), first, element);
  second = convert(builder, op.getLoc(), second, element);
  Value wide =
      Result::create(builder, op.getLoc(), tensor.clone(computeType(element)),
                     first, second, op.getStrides(), op.getPadsBegin(),
                     op.getPadsEnd(), op.getDilations(), op.getGroups());
  return convert(builder, op.getLoc(), wide, element);
}

Values ConvolutionOp::pullback(OpBuilder &builder, ValueRange g) {
  return {sibling<ConvolutionBackwardDataOp>(
              builder, *this, getInput().getType(), g[0], getWeight()),
          sibling<ConvolutionBackwardWeightsOp>(
              builder, *this, getWeight().getType(), getInput(), g[0])};
}

Values ConvolutionBackwardDataOp::pullback(OpBuilder &builder, ValueRange g) {
  return {sibling<ConvolutionOp>(builder, *this, getGradient().getType(), g[0],
                                 getWeight()),
          sibling<ConvolutionBackwardWeightsOp>(
              builder, *this, getWeight().getType(), g[0], getGradient())};
}

Values ConvolutionBackwardWeightsOp::pullback(OpBuilder &builder,
                                              ValueRange g) {
  return {sibling<ConvolutionBackwardDataOp>(
              builder, *this, getInput().getType(), getGradient(), g[0]),
          sibling<ConvolutionOp>(builder, *this, getGradient().getType(),
                                 getInput(), g[0])};
}

//===-- pooling -----------------------------------------------------------===//

Values MaxPoolOp::pullback(OpBuilder &builder, ValueRange g) {
  return {MaxPoolBackwardOp::create(
      builder, getLoc(), getInput().getType(), g[0], getIndices(), getWindow(),
      getStrides(), getPadsBegin(), getPadsEnd(), getDilations())};
}

Values AveragePoolOp::pullback(OpBuilder &builder, ValueRange g) {
  return {AveragePoolBackwardOp::create(
      builder, getLoc(), getInput().getType(), g[0], getWindow(), getStrides(),
      getPadsBegin(), getPadsEnd(), getDilations(), getCountIncludePad())};
}

Values AveragePoolBackwardOp::pullback(OpBuilder &builder, ValueRange g) {
  return {AveragePoolOp::create(builder, getLoc(), getGradient().getType(),
                                g[0], getWindow(), getStrides(), getPadsBegin(),
                                getPadsEnd(), getDilations(),
                                getCountIncludePad())};
}

//===-- losses ------------------------------------------------------------===//

Values SoftmaxCrossEntropyOp::pullback(OpBuilder &builder, ValueRange g) {
  Value gradient = SoftmaxCrossEntropyBackwardOp::create(
      builder, getLoc(), getLogits().getType(), g[0], getLogits(), getLabels(),
      getClassAxisAttr(), getIgnoreIndexAttr(), getLabelSmoothingAttr());
  return {gradient, Value()};
}

/// The gradient is 2 g (prediction - target) / N, and its negative for the
/// target.
Values MeanSquaredErrorOp::pullback(OpBuilder &builder, ValueRange g) {
  Arithmetic a{builder, getLoc()};
  RankedTensorType type = tensorType(getPrediction());
  Type wide = computeType(type.getElementType());
  Value difference =
      a.subtract(convert(builder, getLoc(), getPrediction(), wide),
                 convert(builder, getLoc(), getTarget(), wide));
  Value seed = convert(builder, getLoc(), g[0], wide);
  Value share = broadcastScalar(builder, getLoc(),
                                a.scale(2.0 / type.getNumElements(), seed),
                                type.getShape());
  Value gradient = convert(builder, getLoc(), a.multiply(difference, share),
                           type.getElementType());
  return {gradient, a.negate(gradient)};
}

//===-- arith -------------------------------------------------------------===//

namespace rules {

static Values pullback(arith::AddFOp, const Arithmetic &, Value g) {
  return {g, g};
}

static Values pullback(arith::SubFOp, const Arithmetic &a, Value g) {
  return {g, a.negate(g)};
}

static Values pullback(arith::MulFOp op, const Arithmetic &a, Value g) {
  return {a.multiply(g, op.getRhs()), a.multiply(g, op.getLhs())};
}

/// The gradients are g / b and -g y / b.
static Values pullback(arith::DivFOp op, const Arithmetic &a, Value g) {
  Value share = a.divide(g, op.getRhs());
  return {share, a.negate(a.multiply(share, op.getResult()))};
}

/// With y = a - b q, where q is whole and may not fit 16 bits, the gradients
/// are g and -g q.
static Values pullback(arith::RemFOp op, const Arithmetic &a, Value g) {
  Value taken = a.subtract(wide(a, op.getLhs()), wide(a, op.getResult()));
  Value whole =
      a.make<math::RoundEvenOp>(a.divide(taken, wide(a, op.getRhs())));
  return {g, narrow(a, a.negate(a.multiply(wide(a, g), whole)), g)};
}

static Values pullback(arith::NegFOp, const Arithmetic &a, Value g) {
  return {a.negate(g)};
}

/// The gradient is g where x is larger, and the rest goes to the other operand;
/// where they are equal each gets a half, as in PyTorch.
static Values larger(const Arithmetic &a, Value x, Value other, Value g) {
  Value zero = a.number(0, g);
  Value tied = a.select(a.equal(x, other), a.scale(0.5, g), zero);
  Value gradient = a.select(a.greater(x, other), g, tied);
  return {gradient, a.subtract(g, gradient)};
}

static Values pullback(arith::MaximumFOp op, const Arithmetic &a, Value g) {
  return larger(a, op.getLhs(), op.getRhs(), g);
}
static Values pullback(arith::MaxNumFOp op, const Arithmetic &a, Value g) {
  return larger(a, op.getLhs(), op.getRhs(), g);
}

/// The gradient goes to the left operand where the right one is larger.
static Values pullback(arith::MinimumFOp op, const Arithmetic &a, Value g) {
  return larger(a, op.getRhs(), op.getLhs(), g);
}
static Values pullback(arith::MinNumFOp op, const Arithmetic &a, Value g) {
  return larger(a, op.getRhs(), op.getLhs(), g);
}

static Values pullback(arith::SelectOp op, const Arithmetic &a, Value g) {
  Value zero = a.number(0, g);
  return {Value(), a.select(op.getCondition(), g, zero),
          a.select(op.getCondition(), zero, g)};
}

/// Between float types the gradient is converted back.
static Values pullback(arith::ExtFOp op, const Arithmetic &a, Value g) {
  return {unrounded(a.builder, a.loc, g, getElementTypeOrSelf(op.getIn()))};
}
static Values pullback(arith::TruncFOp op, const Arithmetic &a, Value g) {
  return {unrounded(a.builder, a.loc, g, getElementTypeOrSelf(op.getIn()))};
}

//===-- math --------------------------------------------------------------===//

/// The gradient is g sign(x), 0 at 0.
static Values pullback(math::AbsFOp op, const Arithmetic &a, Value g) {
  Value x = op.getOperand(), zero = a.number(0, x);
  Value notPositive = a.select(a.greater(zero, x), a.negate(g), zero);
  return {a.select(a.greater(x, zero), g, notPositive)};
}

/// Computes 1 + sign x^2.
static Value onePlusSquare(const Arithmetic &a, Value x, double sign) {
  return a.add(a.number(1, x), a.scale(sign, a.multiply(x, x)));
}

/// The gradient is -g / sqrt(1 - x^2), and g / sqrt(1 - x^2) for asin.
static Values pullback(math::AcosOp op, const Arithmetic &a, Value g) {
  Value x = op.getOperand();
  return {a.negate(a.divide(g, a.squareRoot(onePlusSquare(a, x, -1))))};
}
static Values pullback(math::AsinOp op, const Arithmetic &a, Value g) {
  Value x = op.getOperand();
  return {a.divide(g, a.squareRoot(onePlusSquare(a, x, -1)))};
}

/// The gradient is g / (1 + x^2), and g / (1 - x^2) for atanh.
static Values pullback(math::AtanOp op, const Arithmetic &a, Value g) {
  return {a.divide(g, onePlusSquare(a, op.getOperand(), 1))};
}
static Values pullback(math::AtanhOp op, const Arithmetic &a, Value g) {
  return {a.divide(g, onePlusSquare(a, op.getOperand(), -1))};
}

/// The gradient is g / sqrt(x^2 - 1), and g / sqrt(x^2 + 1) for asinh.
static Values pullback(math::AcoshOp op, const Arithmetic &a, Value g) {
  Value x = op.getOperand();
  Value square = a.subtract(a.multiply(x, x), a.number(1, x));
  return {a.divide(g, a.squareRoot(square))};
}
static Values pullback(math::AsinhOp op, const Arithmetic &a, Value g) {
  Value x = op.getOperand();
  return {a.divide(g, a.squareRoot(onePlusSquare(a, x, 1)))};
}

static Values pullback(math::CosOp op, const Arithmetic &a, Value g) {
  return {a.negate(a.multiply(g, a.sine(op.getOperand())))};
}

static Values pullback(math::CoshOp op, const Arithmetic &a, Value g) {
  return {a.multiply(g, a.make<math::SinhOp>(op.getOperand()))};
}

/// The gradient is g 2 / sqrt(pi) exp(-x^2).
static Values pullback(math::ErfOp op, const Arithmetic &a, Value g) {
  Value x = op.getOperand();
  return {a.multiply(g, a.scale(1.1283791670955126,
                                a.exponential(a.negate(a.multiply(x, x)))))};
}

static Values pullback(math::ExpOp op, const Arithmetic &a, Value g) {
  return {a.multiply(g, op.getResult())};
}

static Values pullback(math::ExpM1Op op, const Arithmetic &a, Value g) {
  return {a.multiply(g, a.exponential(op.getOperand()))};
}

static Values pullback(math::FmaOp op, const Arithmetic &a, Value g) {
  return {a.multiply(g, op.getB()), a.multiply(g, op.getA()), g};
}

static Values pullback(math::LogOp op, const Arithmetic &a, Value g) {
  return {a.divide(g, op.getOperand())};
}

static Values pullback(math::Log1pOp op, const Arithmetic &a, Value g) {
  Value x = op.getOperand();
  return {a.divide(g, a.add(a.number(1, x), x))};
}

/// For y = a^b the gradients are g b a^(b-1) and g y log(a), with 0 instead of
/// 0 * inf.
static Values pullback(math::PowFOp op, const Arithmetic &a, Value g) {
  Value base = op.getLhs(), exponent = op.getRhs(), zero = a.number(0, base);
  Value lower = a.power(base, a.subtract(exponent, a.number(1, base)));
  Value ofBase = a.multiply(g, a.multiply(exponent, lower));
  Value ofExponent =
      a.multiply(g, a.multiply(op.getResult(), a.logarithm(base)));
  return {a.select(a.equal(exponent, zero), zero, ofBase),
          a.select(a.equal(base, zero), zero, ofExponent)};
}

/// The gradient is -g y^3 / 2.
static Values pullback(math::RsqrtOp op, const Arithmetic &a, Value g) {
  Value y = op.getResult();
  return {a.multiply(g, a.scale(-0.5, a.multiply(y, a.multiply(y, y))))};
}

static Values pullback(math::SinOp op, const Arithmetic &a, Value g) {
  return {a.multiply(g, a.cosine(op.getOperand()))};
}

static Values pullback(math::SinhOp op, const Arithmetic &a, Value g) {
  return {a.multiply(g, a.make<math::CoshOp>(op.getOperand()))};
}

/// The gradient is g / (2 y).
static Values pullback(math::SqrtOp op, const Arithmetic &a, Value g) {
  return {a.divide(a.scale(0.5, g), op.getResult())};
}

/// The gradient is g (1 + y^2).
static Values pullback(math::TanOp op, const Arithmetic &a, Value g) {
  Value y = op.getResult();
  return {a.multiply(g, a.add(a.number(1, y), a.multiply(y, y)))};
}

/// The gradient is g (1 - y^2).
static Values pullback(math::TanhOp op, const Arithmetic &a, Value g) {
  Value y = kept(a, op.getResult());
  Value slope = a.subtract(a.number(1, y), a.multiply(y, y));
  return {narrow(a, a.multiply(wide(a, g), slope), g)};
}

} // namespace rules

//===-- registration ------------------------------------------------------===//

namespace {
/// How an op of scalar_ops.def passes a gradient on.
enum class Gradient { none, flat, rule };

/// The rule of an op of another dialect, as its Differentiable interface.
template <typename Op, Gradient gradient>
struct RuleModel : Differentiable::ExternalModel<RuleModel<Op, gradient>, Op> {
  Values pullback(Operation *op, OpBuilder &builder, ValueRange g) const {
    if constexpr (gradient == Gradient::flat)
      return {Value()};
    else
      return rules::pullback(cast<Op>(op), Arithmetic{builder, op->getLoc()},
                             g[0]);
  }
};

template <typename Op, Gradient gradient> void attach(MLIRContext *context) {
  if constexpr (gradient != Gradient::none)
    Op::template attachInterface<RuleModel<Op, gradient>>(*context);
}
} // namespace

static void attachRules(MLIRContext *context, arith::ArithDialect *,
                        math::MathDialect *) {
#define SCALAR_OP(op, types, cost, rounding, gradient, ...)                    \
  attach<op, Gradient::gradient>(context);
#include "ir/scalar_ops.def"
}

void gradus::registerGradientModels(DialectRegistry &registry) {
  registry.addExtension(attachRules);
}
