// Builders for graphs; see build.h.

#include "ir/build.h"

using namespace mlir;
using namespace gradus;

RankedTensorType gradus::tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static Type elementType(Value value) { return getElementTypeOrSelf(value); }

static RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
  return RankedTensorType::get(shape, elementType(value));
}

SmallVector<int64_t> gradus::axesExcept(int64_t rank, ArrayRef<int64_t> axes) {
  SmallVector<int64_t> others;
  for (int64_t axis = 0; axis < rank; ++axis)
    if (!llvm::is_contained(axes, axis))
      others.push_back(axis);
  return others;
}

SmallVector<int64_t> gradus::allAxes(int64_t rank) {
  return axesExcept(rank, {});
}

//===-- constants ---------------------------------------------------------===//

static TypedAttr numberAttr(Type type, double number) {
  if (isa<FloatType>(type))
    return FloatAttr::get(type, number);
  return IntegerAttr::get(type, int64_t(number));
}

Value gradus::splat(OpBuilder &builder, Location loc, Type type,
                    double number) {
  TypedAttr value = numberAttr(getElementTypeOrSelf(type), number);
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    value = SplatElementsAttr::get(tensor, value);
  return arith::ConstantOp::create(builder, loc, value);
}

Value gradus::splatLike(OpBuilder &builder, Value like, double number) {
  return splat(builder, like.getLoc(), like.getType(), number);
}

//===-- shapes ------------------------------------------------------------===//

Value gradus::reshape(OpBuilder &builder, Location loc, Value value,
                      ArrayRef<int64_t> shape) {
  return builder.createOrFold<ReshapeOp>(loc, withShape(value, shape), value);
}

Value gradus::transpose(OpBuilder &builder, Location loc, Value value,
                        ArrayRef<int64_t> permutation) {
  SmallVector<int64_t> shape;
  for (int64_t dimension : permutation)
    shape.push_back(tensorType(value).getDimSize(dimension));
  return builder.createOrFold<TransposeOp>(loc, withShape(value, shape), value,
                                           permutation);
}

Value gradus::broadcast(OpBuilder &builder, Location loc, Value value,
                        ArrayRef<int64_t> shape, ArrayRef<int64_t> dimensions) {
  return builder.createOrFold<BroadcastOp>(loc, withShape(value, shape), value,
                                           dimensions);
}

Value gradus::broadcastScalar(OpBuilder &builder, Location loc, Value scalar,
                              ArrayRef<int64_t> shape) {
  return broadcast(builder, loc, scalar, shape, {});
}

Value gradus::broadcastAlong(OpBuilder &builder, Location loc, Value value,
                             ArrayRef<int64_t> shape, ArrayRef<int64_t> axes) {
  return broadcast(builder, loc, value, shape, axesExcept(shape.size(), axes));
}

Value gradus::broadcastLast(OpBuilder &builder, Location loc, Value value,
                            ArrayRef<int64_t> shape) {
  int64_t rank = tensorType(value).getRank();
  SmallVector<int64_t> dimensions;
  for (int64_t d = shape.size() - rank; d < int64_t(shape.size()); ++d)
    dimensions.push_back(d);
  return broadcast(builder, loc, value, shape, dimensions);
}

//===-- combining ---------------------------------------------------------===//

Value gradus::reduce(OpBuilder &builder, Location loc, Reduction kind,
                     Value value, ArrayRef<int64_t> axes) {
  RankedTensorType type = tensorType(value);
  SmallVector<int64_t> shape;
  for (int64_t d : axesExcept(type.getRank(), axes))
    shape.push_back(type.getDimSize(d));
  return builder.createOrFold<ReduceOp>(loc, withShape(value, shape), kind,
                                        value, axes);
}

Value gradus::sum(OpBuilder &builder, Location loc, Value value,
                  ArrayRef<int64_t> axes) {
  return reduce(builder, loc, Reduction::sum, value, axes);
}

Value gradus::mean(OpBuilder &builder, Location loc, Value value,
                   ArrayRef<int64_t> axes) {
  return reduce(builder, loc, Reduction::mean, value, axes);
}

/// A matmul reads a transposed operand as fast as a plain one: a transpose that
/// moves the last dimension to the second last is merged into it.
static Value untransposed(OpBuilder &builder, Location loc, Value operand,
                          bool &transposed) {
  auto inner = operand.getDefiningOp<TransposeOp>();
  if (!inner)
    return operand;
  SmallVector<int64_t> permutation(inner.getPermutation());
  size_t rank = permutation.size();
  if (rank < 2 || permutation[rank - 2] != int64_t(rank) - 1)
    return operand;
  std::swap(permutation[rank - 2], permutation[rank - 1]);
  transposed = !transposed;
  return transpose(builder, loc, inner.getInput(), permutation);
}

Value gradus::matmul(OpBuilder &builder, Location loc, Value a, Value b,
                     bool transposeA, bool transposeB, Type element) {
  a = untransposed(builder, loc, a, transposeA);
  b = untransposed(builder, loc, b, transposeB);
  int64_t rank = tensorType(a).getRank();
  SmallVector<int64_t> shape(tensorType(a).getShape());
  shape[rank - 2] = tensorType(a).getDimSize(rank - (transposeA ? 1 : 2));
  shape[rank - 1] = tensorType(b).getDimSize(rank - (transposeB ? 2 : 1));
  auto type = RankedTensorType::get(shape, element ? element : elementType(a));
  return MatmulOp::create(builder, loc, type, a, b, transposeA, transposeB);
}

Value gradus::iota(OpBuilder &builder, Location loc, RankedTensorType type,
                   int64_t axis) {
  return IotaOp::create(builder, loc, type, axis);
}

//===-- element types -----------------------------------------------------===//

/// The type of `value` with another element type; `value` may be a scalar.
static Type likeWithElement(Value value, Type element) {
  if (auto tensor = dyn_cast<RankedTensorType>(value.getType()))
    return tensor.clone(element);
  return element;
}

Value gradus::unrounded(OpBuilder &builder, Location loc, Value value,
                        Type element) {
  if (auto round = value.getDefiningOp<arith::TruncFOp>())
    if (elementType(round.getIn()) == element)
      return round.getIn();
  return convert(builder, loc, value, element);
}

Type gradus::computeType(Type element) {
  return element.getIntOrFloatBitWidth() < 32
             ? Float32Type::get(element.getContext())
             : element;
}

Value gradus::convert(OpBuilder &builder, Location loc, Value value,
                      Type element) {
  Type from = elementType(value), to = likeWithElement(value, element);
  if (from == element)
    return value;
  if (from.isInteger(1))
    return builder.createOrFold<arith::UIToFPOp>(loc, to, value);
  if (isa<IntegerType>(from))
    return builder.createOrFold<arith::SIToFPOp>(loc, to, value);
  if (from.getIntOrFloatBitWidth() < element.getIntOrFloatBitWidth())
    return builder.createOrFold<arith::ExtFOp>(loc, to, value);
  if (from.getIntOrFloatBitWidth() > element.getIntOrFloatBitWidth())
    return builder.createOrFold<arith::TruncFOp>(loc, to, value);
  // f16 is converted to bf16 and back through f32, which holds both.
  Value wide = convert(builder, loc, value, builder.getF32Type());
  return convert(builder, loc, wide, element);
}
