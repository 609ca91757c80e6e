// Batch normalization: the verifiers, gradients, decompositions and reference
// evaluation of its ops.
//
// Sums over a channel are f64: one pass over memory gives mean and variance to
// the last bits, even where the mean is large, and takes no longer than reading
// the elements.

#include "ir/build.h"
#include "ir/evaluator/evaluator.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

using Results = FailureOr<SmallVector<HostTensor>>;
using Values = SmallVector<Value>;

//===-- verification ------------------------------------------------------===//

static LogicalResult verifyChannels(Operation *op, Value image, Value factor) {
  RankedTensorType input = tensorType(image), vector = tensorType(factor);
  if (input.getRank() < 2)
    return op->emitOpError("expected an input [N, C, ...], found ") << input;
  if (vector.getRank() == 1 && vector.getDimSize(0) == input.getDimSize(1))
    return success();
  return op->emitOpError("has a scale of type ")
         << vector << ", expected one element for each of the "
         << input.getDimSize(1) << " channels of " << input;
}

static LogicalResult verifyEpsilon(Operation *op, const APFloat &epsilon) {
  if (epsilon.convertToDouble() >= 0)
    return success();
  return op->emitOpError("has epsilon ")
         << epsilon.convertToDouble() << ", expected at least 0";
}

LogicalResult BatchNormOp::verify() {
  if (failed(verifyEpsilon(*this, getEpsilon())))
    return failure();
  double momentum = getMomentum() ? getMomentum()->convertToDouble() : 0;
  if (!(momentum >= 0 && momentum <= 1))
    return emitOpError("has momentum ") << momentum << ", expected 0 to 1";
  return verifyChannels(*this, getInput(), getScale());
}

LogicalResult BatchNormTrainingOp::verify() {
  if (failed(verifyEpsilon(*this, getEpsilon())))
    return failure();
  return verifyChannels(*this, getInput(), getScale());
}

LogicalResult BatchNormBackwardOp::verify() {
  if (failed(verifyEpsilon(*this, getEpsilon())))
    return failure();
  return verifyChannels(*this, getInput(), getScale());
}

//===-- gradients ---------------------------------------------------------===//

namespace {
/// Arithmetic on vectors of channels and on images, which are at least f32.
struct Channels {
  Channels(OpBuilder &builder, Location loc, Value like)
      : builder(builder), loc(loc), image(tensorType(like).clone(computeType(
                                        tensorType(like).getElementType()))) {}

  OpBuilder &builder;
  Location loc;
  RankedTensorType image;

  /// An image, converted to the type to compute in.
  Value full(Value given) const {
    return convert(builder, loc, given, image.getElementType());
  }
  template <typename Op> Value make(Value a, Value b) const {
    return Op::create(builder, loc, a, b);
  }
  Value add(Value a, Value b) const { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) const { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) const { return make<arith::MulFOp>(a, b); }
  Value scale(Value a, double factor) const {
    return mul(a, splatLike(builder, a, factor));
  }
  Value rsqrt(Value variance, const APFloat &epsilon) const {
    Value shift = splatLike(builder, variance, epsilon.convertToDouble());
    return math::RsqrtOp::create(builder, loc, add(variance, shift));
  }
  /// Broadcasts a vector of channels to an image.
  Value spread(Value vector) const {
    return broadcast(builder, loc,
                     convert(builder, loc, vector, image.getElementType()),
                     image.getShape(), {1});
  }
  /// Sums each channel, in the type of `like`.
  Value total(Value image, Value like) const {
    Type element = tensorType(like).getElementType();
    return sum(builder, loc, convert(builder, loc, image, element),
               axesExcept(tensorType(image).getRank(), {1}));
  }
  /// The elements of an image in f64, for sums.
  Value wide(Value image) const {
    return convert(builder, loc, image, builder.getF64Type());
  }
  Value narrow(Value value, Value like) const {
    return convert(builder, loc, value, tensorType(like).getElementType());
  }
  Value channelSum(Value wideImage) const {
    return sum(builder, loc, wideImage, axesExcept(image.getRank(), {1}));
  }
  /// 1 / sqrt(variance + epsilon), exact to the last bits.
  Value inverseDeviation(Value variance, const APFloat &epsilon) const {
    Value shift = splatLike(builder, variance, epsilon.convertToDouble());
    Value root = math::SqrtOp::create(builder, loc, add(variance, shift));
    return make<arith::DivFOp>(splatLike(builder, variance, 1), root);
  }
  /// Computes (x - mean) * factor + bias, in the type of x.
  Value apply(Value input, Value mean, Value factor, Value bias) const {
    Value centered = sub(full(input), spread(mean));
    return narrow(add(mul(centered, spread(factor)), spread(bias)), input);
  }
  double elementsPerChannel() const {
    return double(image.getNumElements()) / image.getDimSize(1);
  }
};
} // namespace

/// With r = 1/sqrt(variance + epsilon) the gradients are: x: g scale r; bias:
/// sum g; scale: sum g (x - mean) r; mean: -scale r sum g; variance: -scale r^2
/// / 2 times the gradient of scale.
Values BatchNormOp::pullback(OpBuilder &builder, ValueRange g) {
  Channels c(builder, getLoc(), getInput());
  Value gradient = c.full(g[0]);
  Value r = c.rsqrt(getVariance(), getEpsilon());
  Value factor = c.mul(getScale(), r);
  Value centered = c.sub(c.full(getInput()), c.spread(getMean()));
  Value ofBias = c.total(gradient, getBias());
  Value ofScale = c.mul(c.total(c.mul(gradient, centered), getScale()), r);
  Value ofMean = c.scale(c.mul(factor, ofBias), -1);
  Value ofVariance = c.scale(c.mul(c.mul(factor, r), ofScale), -0.5);
  Value ofInput = c.narrow(c.mul(gradient, c.spread(factor)), getInput());
  return {ofInput, ofScale, ofBias, ofMean, ofVariance};
}

/// The part of x's gradient that comes through mean and variance: for each
/// element g_mean / N and 2 g_variance (x - mean) / N.
static Value throughStatistics(BatchNormTrainingOp op, const Channels &c,
                               Value ofMean, Value ofVariance) {
  double share = 1 / c.elementsPerChannel();
  Value sum;
  if (ofMean)
    sum = c.spread(c.scale(ofMean, share));
  if (!ofVariance)
    return sum;
  Value centered = c.sub(c.full(op.getInput()), c.spread(op.getMean()));
  Value term = c.mul(centered, c.spread(c.scale(ofVariance, 2 * share)));
  return sum ? c.add(sum, term) : term;
}

Values BatchNormTrainingOp::pullback(OpBuilder &builder, ValueRange g) {
  Channels c(builder, getLoc(), getInput());
  Value through = throughStatistics(*this, c, g[1], g[2]);
  if (!g[0])
    return {c.narrow(through, getInput()), Value(), Value()};
  auto backward = BatchNormBackwardOp::create(builder, getLoc(), g[0],
                                              getInput(), getScale(), getMean(),
                                              getVariance(), getEpsilonAttr());
  Value ofInput = backward.getResult();
  if (through)
    ofInput = c.narrow(c.add(c.full(ofInput), through), getInput());
  return {ofInput, backward.getScaleGradient(), backward.getBiasGradient()};
}

//===-- decomposition -----------------------------------------------------===//

Values BatchNormOp::decompose(OpBuilder &builder) {
  Channels c(builder, getLoc(), getInput());
  Value factor =
      c.mul(getScale(), c.inverseDeviation(getVariance(), getEpsilon()));
  return {c.apply(getInput(), getMean(), factor, getBias())};
}

/// Uses variance = mean of squares - square of mean, for which f64 has enough
/// precision.
Values BatchNormTrainingOp::decompose(OpBuilder &builder) {
  Channels c(builder, getLoc(), getInput());
  Value x = c.wide(getInput());
  double share = 1 / c.elementsPerChannel();
  Value mean = c.scale(c.channelSum(x), share);
  Value squares = c.scale(c.channelSum(c.mul(x, x)), share);
  Value difference = c.sub(squares, c.mul(mean, mean));
  Value positive =
      c.make<arith::MaximumFOp>(difference, splatLike(builder, difference, 0));
  Value variance = c.narrow(positive, getScale());
  Value factor = c.mul(getScale(), c.inverseDeviation(variance, getEpsilon()));
  mean = c.narrow(mean, getScale());
  return {c.apply(getInput(), mean, factor, getBias()), mean, variance};
}

/// Computes dx = factor (dy - offset - (x - mean) slope).
Values BatchNormBackwardOp::decompose(OpBuilder &builder) {
  Channels c(builder, getLoc(), getInput());
  Value g = c.wide(getGradient());
  Value centered = c.sub(c.wide(getInput()), c.wide(c.spread(getMean())));
  Value r = c.inverseDeviation(getVariance(), getEpsilon());
  Value ofBias = c.narrow(c.channelSum(g), getScale());
  Value ofScale =
      c.mul(c.narrow(c.channelSum(c.mul(g, centered)), getScale()), r);
  double share = 1 / c.elementsPerChannel();
  Value offset = c.scale(ofBias, share);
  Value slope = c.mul(c.scale(ofScale, share), r);
  Value moved = c.sub(c.full(getGradient()), c.spread(offset));
  Value away = c.sub(c.full(getInput()), c.spread(getMean()));
  Value along = c.mul(away, c.spread(slope));
  Value factor = c.spread(c.mul(getScale(), r));
  Value result = c.narrow(c.mul(c.sub(moved, along), factor), getInput());
  return {result, ofScale, ofBias};
}

//===-- evaluation --------------------------------------------------------===//

/// Calls `visit(position, channel)` for each element of an image.
template <typename Visit>
static void forEachElement(const HostTensor &image, Visit visit) {
  int64_t inner = 1;
  for (int64_t extent : ArrayRef(image.shape).drop_front(2))
    inner *= extent;
  for (int64_t i = 0, end = image.size(); i < end; ++i)
    visit(i, i / inner % image.shape[1]);
}

/// The mean over each channel of `term(position, channel)`.
template <typename Term>
static HostTensor channelMeans(const HostTensor &image, Term term) {
  HostTensor means = zeros(ArrayRef<int64_t>(image.shape[1]));
  double count = double(image.size()) / image.shape[1];
  forEachElement(image, [&](int64_t i, int64_t c) {
    means.floats[c] += term(i, c) / count;
  });
  return means;
}

static HostTensor normalized(const HostTensor &image, const HostTensor &scale,
                             const HostTensor &bias, const HostTensor &mean,
                             const HostTensor &variance, double epsilon) {
  HostTensor result = image;
  forEachElement(image, [&](int64_t i, int64_t c) {
    double r = 1 / std::sqrt(variance.floats[c] + epsilon);
    result.floats[i] =
        scale.floats[c] * (image.floats[i] - mean.floats[c]) * r +
        bias.floats[c];
  });
  return result;
}

Results BatchNormOp::evaluate(ArrayRef<HostTensor> operands) {
  return SmallVector<HostTensor>{
      normalized(operands[0], operands[1], operands[2], operands[3],
                 operands[4], getEpsilon().convertToDouble())};
}

Results BatchNormTrainingOp::evaluate(ArrayRef<HostTensor> operands) {
  const HostTensor &x = operands[0];
  HostTensor mean =
      channelMeans(x, [&](int64_t i, int64_t) { return x.floats[i]; });
  HostTensor variance = channelMeans(x, [&](int64_t i, int64_t c) {
    double difference = x.floats[i] - mean.floats[c];
    return difference * difference;
  });
  HostTensor result = normalized(x, operands[1], operands[2], mean, variance,
                                 getEpsilon().convertToDouble());
  return SmallVector<HostTensor>{std::move(result), std::move(mean),
                                 std::move(variance)};
}

Results BatchNormBackwardOp::evaluate(ArrayRef<HostTensor> operands) {
  const HostTensor &g = operands[0], &x = operands[1], &scale = operands[2],
                   &mean = operands[3], &variance = operands[4];
  auto r = [&](int64_t c) {
    return 1 / std::sqrt(variance.floats[c] + getEpsilon().convertToDouble());
  };
  auto z = [&](int64_t i, int64_t c) {
    return (x.floats[i] - mean.floats[c]) * r(c);
  };
  HostTensor bias =
      channelMeans(x, [&](int64_t i, int64_t) { return g.floats[i]; });
  HostTensor factor = channelMeans(
      x, [&](int64_t i, int64_t c) { return g.floats[i] * z(i, c); });
  HostTensor result = x;
  forEachElement(x, [&](int64_t i, int64_t c) {
    result.floats[i] =
        scale.floats[c] * r(c) *
        (g.floats[i] - bias.floats[c] - z(i, c) * factor.floats[c]);
  });
  double count = double(x.size()) / x.shape[1];
  for (HostTensor *means : {&bias, &factor})
    for (double &value : means->floats)
      value *= count;
  return SmallVector<HostTensor>{std::move(result), std::move(factor),
                                 std::move(bias)};
}
