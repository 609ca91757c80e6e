// Batch normalization as nests: one over the elements for each set of sums, one
// over the channels for what the sums give, one over the elements for the
// result. An activation behind them and a mask before them fuse in.
//
// Sums are f64: one pass over memory gives mean and variance to the last bits
// even where the mean is large, and costs no more than reading the elements.

#include "codegen/lower_to_nests.h"

#include "llvm/ADT/TypeSwitch.h"

namespace gradus {
namespace {
using namespace mlir;
using Exprs = SmallVector<AffineExpr>;

/// Scalar code of the regions.
struct Scalars {
  OpBuilder &builder;
  Location loc;

  Value add(Value a, Value b) const { return make<arith::AddFOp>(a, b); }
  Value sub(Value a, Value b) const { return make<arith::SubFOp>(a, b); }
  Value mul(Value a, Value b) const { return make<arith::MulFOp>(a, b); }
  Value number(double value, Value like) const {
    return splat(builder, loc, like.getType(), value);
  }
  Value scale(double factor, Value a) const { return mul(number(factor, a), a); }
  Value as(Type type, Value a) const { return convert(builder, loc, a, type); }
  Value wide(Value a) const { return as(builder.getF64Type(), a); }
  /// 1 / sqrt(variance + epsilon), exact to the last bits.
  Value inverseDeviation(Value variance, const APFloat &epsilon) const {
    Value root = math::SqrtOp::create(
        builder, loc, add(variance, number(epsilon.convertToDouble(), variance)));
    return arith::DivFOp::create(builder, loc, number(1, variance), root);
  }
  template <typename Op> Value make(Value a, Value b) const {
    return Op::create(builder, loc, a, b);
  }
};

/// An op that is being lowered: its image [N, C, ...] and vectors [C].
struct Lowering {
  OpBuilder &builder;
  Location location;
  RankedTensorType image, vector;

  double elementsPerChannel() const {
    return double(image.getNumElements()) / image.getDimSize(1);
  }

  /// Vectors from vectors.
  SmallVector<Value> overChannels(ArrayRef<Value> vectors, unsigned results,
                                  ScalarBody body) const {
    Domain domain(builder.getContext());
    auto c = domain.parallel(vector.getShape());
    NestParts parts = domain.elementwise();
    for (Value each : vectors)
      parts.thenReads.push_back({each, domain.thenMap(c), {}});
    parts.outputMaps.assign(results, domain.thenMap(c));
    parts.resultTypes.assign(results, vector);
    return buildNest(builder, location, parts, nullptr, body).getResults();
  }

  /// An image from images and vectors.
  Value overElements(ArrayRef<Value> images, ArrayRef<Value> vectors,
                     ScalarBody body) const {
    Domain domain(builder.getContext());
    Exprs position = domain.parallel(image.getShape());
    NestParts parts = domain.elementwise();
    for (Value each : images)
      parts.thenReads.push_back({each, domain.thenMap(position), {}});
    for (Value each : vectors)
      parts.thenReads.push_back({each, domain.thenMap(position[1]), {}});
    parts.outputMaps = {domain.thenMap(position)};
    parts.resultTypes = {image};
    return buildNest(builder, location, parts, nullptr, body).getResult(0);
  }

  /// Two sums over each channel of what `map` makes of the elements of images
  /// and of their channel's elements of vectors; `then` finishes the sums.
  SmallVector<Value> sumChannels(ArrayRef<Value> images,
                                 ArrayRef<Value> vectors, ScalarBody map,
                                 ScalarBody then) const {
    Domain domain(builder.getContext());
    AffineExpr c = domain.parallel(image.getDimSize(1));
    Exprs position = {domain.reduced(image.getDimSize(0)), c};
    for (int64_t extent : image.getShape().drop_front(2))
      position.push_back(domain.reduced(extent));
    NestParts parts = domain.reducing({Reduction::sum, Reduction::sum});
    for (Value each : images)
      parts.mapReads.push_back({each, domain.map(position), {}});
    for (Value each : vectors)
      parts.mapReads.push_back({each, domain.map(c), {}});
    parts.outputMaps.assign(2, domain.thenMap(c));
    parts.resultTypes.assign(2, vector);
    return buildNest(builder, location, parts, map, then).getResults();
  }
};

Lowering loweringOf(OpBuilder &builder, Operation *op, Value image,
                    Value vector) {
  return {builder, op->getLoc(), tensorType(image), tensorType(vector)};
}

//===-- statistics --------------------------------------------------------===//

/// Mean and variance of each channel.
SmallVector<Value> statistics(const Lowering &at, Value image) {
  auto powers = [](OpBuilder &builder, Location loc, ValueRange values) {
    Scalars s{builder, loc};
    Value x = s.wide(values[0]);
    return SmallVector<Value>{x, s.mul(x, x)};
  };
  auto finish = [&](OpBuilder &builder, Location loc, ValueRange values) {
    Scalars s{builder, loc};
    double share = 1 / at.elementsPerChannel();
    Value mean = s.scale(share, values[0]);
    Value variance = s.sub(s.scale(share, values[1]), s.mul(mean, mean));
    Type element = at.vector.getElementType();
    return SmallVector<Value>{
        s.as(element, mean),
        s.as(element,
             s.make<arith::MaximumFOp>(variance, s.number(0, variance)))};
  };
  return at.sumChannels(image, {}, powers, finish);
}

/// (x - mean) * factor + bias with factor = scale / sqrt(variance + epsilon).
Value normalize(const Lowering &at, Value image, Value scale, Value bias,
                Value mean, Value variance, const APFloat &epsilon) {
  auto factorOf = [&](OpBuilder &builder, Location loc, ValueRange values) {
    Scalars s{builder, loc};
    return SmallVector<Value>{
        s.mul(values[0], s.inverseDeviation(values[1], epsilon))};
  };
  Value factor = at.overChannels({scale, variance}, 1, factorOf)[0];
  auto apply = [](OpBuilder &builder, Location loc, ValueRange values) {
    Scalars s{builder, loc};
    Value centered = s.sub(values[0], values[1]);
    return SmallVector<Value>{s.add(s.mul(centered, values[2]), values[3])};
  };
  return at.overElements(image, {mean, factor, bias}, apply);
}

SmallVector<Value> lower(OpBuilder &builder, BatchNormOp op) {
  Lowering at = loweringOf(builder, op, op.getInput(), op.getScale());
  return {normalize(at, op.getInput(), op.getScale(), op.getBias(),
                    op.getMean(), op.getVariance(), op.getEpsilon())};
}

SmallVector<Value> lower(OpBuilder &builder, BatchNormTrainingOp op) {
  Lowering at = loweringOf(builder, op, op.getInput(), op.getScale());
  SmallVector<Value> found = statistics(at, op.getInput());
  return {normalize(at, op.getInput(), op.getScale(), op.getBias(), found[0],
                    found[1], op.getEpsilon()),
          found[0], found[1]};
}

//===-- backward ----------------------------------------------------------===//

/// sum dy (x - mean) and sum dy of each channel.
SmallVector<Value> gradientSums(const Lowering &at, BatchNormBackwardOp op) {
  auto terms = [](OpBuilder &builder, Location loc, ValueRange values) {
    Scalars s{builder, loc};
    Value gradient = s.wide(values[0]);
    Value centered = s.sub(s.wide(values[1]), s.wide(values[2]));
    return SmallVector<Value>{s.mul(gradient, centered), gradient};
  };
  auto narrow = [&](OpBuilder &builder, Location loc, ValueRange values) {
    Scalars s{builder, loc};
    Type element = at.vector.getElementType();
    return SmallVector<Value>{s.as(element, values[0]),
                              s.as(element, values[1])};
  };
  return at.sumChannels({op.getGradient(), op.getInput()}, op.getMean(), terms,
                        narrow);
}

/// dx = factor (dy - offset - (x - mean) slope)
SmallVector<Value> lower(OpBuilder &builder, BatchNormBackwardOp op) {
  Lowering at = loweringOf(builder, op, op.getInput(), op.getScale());
  SmallVector<Value> sums = gradientSums(at, op);
  double share = 1 / at.elementsPerChannel();
  auto coefficients = [&](OpBuilder &builder, Location loc, ValueRange values) {
    Scalars s{builder, loc};
    Value inverse = s.inverseDeviation(values[1], op.getEpsilon());
    Value ofScale = s.mul(values[2], inverse);
    return SmallVector<Value>{ofScale, s.mul(values[0], inverse),
                              s.scale(share, values[3]),
                              s.mul(s.scale(share, ofScale), inverse)};
  };
  SmallVector<Value> found = at.overChannels(
      {op.getScale(), op.getVariance(), sums[0], sums[1]}, 4, coefficients);
  auto apply = [](OpBuilder &builder, Location loc, ValueRange values) {
    Scalars s{builder, loc};
    Value slope = s.mul(s.sub(values[1], values[2]), values[5]);
    return SmallVector<Value>{
        s.mul(values[3], s.sub(s.sub(values[0], values[4]), slope))};
  };
  Value result =
      at.overElements({op.getGradient(), op.getInput()},
                      {op.getMean(), found[1], found[2], found[3]}, apply);
  return {result, found[0], sums[1]};
}

} // namespace

SmallVector<Value> lowerBatchNormOp(OpBuilder &builder, Operation *op) {
  return llvm::TypeSwitch<Operation *, SmallVector<Value>>(op)
      .Case<BatchNormOp, BatchNormTrainingOp, BatchNormBackwardOp>(
          [&](auto known) { return lower(builder, known); })
      .Default(SmallVector<Value>());
}

} // namespace gradus
