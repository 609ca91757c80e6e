// Softmax and layer normalization: their verifiers, decompositions and
// gradients.
//
// Forward and backward build the same intermediate values in the same way, so
// that common subexpression elimination leaves one of each. Types narrower than
// f32 are computed in f32.

#include "ir/build.h"

using namespace mlir;
using namespace gradus;

using Values = SmallVector<Value>;

namespace {
/// Arithmetic on tensors at one source location; rows lie along `axes`.
struct Rows {
  OpBuilder &builder;
  Location loc;
  ArrayRef<int64_t> shape, axes;

  template <typename Op> Value make(ValueRange operands) const {
    return builder.createOrFold<Op>(loc, operands);
  }
  Value add(Value a, Value b) const { return make<arith::AddFOp>({a, b}); }
  Value sub(Value a, Value b) const { return make<arith::SubFOp>({a, b}); }
  Value mul(Value a, Value b) const { return make<arith::MulFOp>({a, b}); }
  Value exp(Value a) const { return make<math::ExpOp>({a}); }
  Value log(Value a) const { return make<math::LogOp>({a}); }
  Value number(double value, Value like) const {
    return splat(builder, loc, like.getType(), value);
  }
  Value reciprocal(Value a) const {
    return make<arith::DivFOp>({number(1, a), a});
  }
  /// These reduce each row to one value.
  Value total(Value a) const { return sum(builder, loc, a, axes); }
  Value average(Value a) const { return mean(builder, loc, a, axes); }
  Value largest(Value a) const {
    return reduce(builder, loc, Reduction::max, a, axes);
  }
  /// Broadcasts one value for each row to all of its elements.
  Value over(Value a) const {
    return broadcastAlong(builder, loc, a, shape, axes);
  }
  Value wide(Value a) const {
    return convert(builder, loc, a,
                   computeType(tensorType(a).getElementType()));
  }
  Value like(Value a, Value model) const {
    return convert(builder, loc, a, tensorType(model).getElementType());
  }
};
} // namespace

//===-- softmax -----------------------------------------------------------===//

LogicalResult SoftmaxOp::verify() {
  int64_t axis = getAxis();
  if (axis >= 0 && axis < tensorType(getInput()).getRank())
    return success();
  return emitOpError("axis ")
         << axis << " is out of range for " << getInput().getType();
}

Values SoftmaxOp::decompose(OpBuilder &builder) {
  int64_t axis = getAxis();
  Rows rows{builder, getLoc(), tensorType(getInput()).getShape(), axis};
  Value x = rows.wide(getInput());
  Value shifted = rows.sub(x, rows.over(rows.largest(x)));
  Value exponentials = rows.exp(shifted);
  Value total = rows.total(exponentials);
  Value y = getLog()
                ? rows.sub(shifted, rows.over(rows.log(total)))
                : rows.mul(exponentials, rows.over(rows.reciprocal(total)));
  return {rows.like(y, getInput())};
}

/// The gradient is y (g - sum g y), or g - exp(y) sum g for the logarithm.
Values SoftmaxOp::pullback(OpBuilder &builder, ValueRange gradients) {
  int64_t axis = getAxis();
  Rows rows{builder, getLoc(), tensorType(getInput()).getShape(), axis};
  Value g = rows.wide(gradients[0]), y = rows.wide(getResult());
  Value result =
      getLog()
          ? rows.sub(g, rows.mul(rows.exp(y), rows.over(rows.total(g))))
          : rows.mul(y, rows.sub(g, rows.over(rows.total(rows.mul(g, y)))));
  return {rows.like(result, getInput())};
}

//===-- layer norm --------------------------------------------------------===//

SmallVector<int64_t> LayerNormOp::getAxes() {
  int64_t rank = tensorType(getInput()).getRank(),
          normalized = tensorType(getScale()).getRank();
  return llvm::to_vector(llvm::seq<int64_t>(rank - normalized, rank));
}

LogicalResult LayerNormOp::verify() {
  RankedTensorType input = tensorType(getInput()),
                   scale = tensorType(getScale());
  if (scale.getRank() == 0 || scale.getRank() > input.getRank() ||
      input.getShape().take_back(scale.getRank()) != scale.getShape() ||
      input.getElementType() != scale.getElementType())
    return emitOpError("has the scale ")
           << scale << ", expected the last dimensions of " << input;
  if (getBias() && getBias().getType() != scale)
    return emitOpError("has the bias ")
           << getBias().getType() << " beside the scale " << scale;
  return success();
}

namespace {
/// The parts of a normalization that forward and backward share.
struct Normalized {
  Normalized(LayerNormOp op, OpBuilder &builder)
      : axes(op.getAxes()),
        rows{builder, op.getLoc(), tensorType(op.getInput()).getShape(), axes} {
    Value x = rows.wide(op.getInput());
    Value centred = op.getRms() ? x : rows.sub(x, rows.over(rows.average(x)));
    Value variance = rows.average(rows.mul(centred, centred));
    double epsilon = op.getEpsilon().convertToDouble();
    Value shifted = rows.add(variance, rows.number(epsilon, variance));
    inverse = rows.over(rows.make<math::RsqrtOp>({shifted}));
    values = rows.mul(centred, inverse);
    scale = features(rows.wide(op.getScale()));
  }

  /// Broadcasts one value for each feature to all rows.
  Value features(Value value) const {
    return broadcast(rows.builder, rows.loc, value, rows.shape, axes);
  }
  /// Sums over the rows, for each feature.
  Value byFeature(Value value, Value like) const {
    int64_t rank = rows.shape.size() - axes.size();
    return rows.like(sum(rows.builder, rows.loc, value, allAxes(rank)), like);
  }

  SmallVector<int64_t> axes;
  Rows rows;
  Value inverse; // 1 / standard deviation
  Value values;  // the input, normalized
  Value scale;
};
} // namespace

Values LayerNormOp::decompose(OpBuilder &builder) {
  Normalized n(*this, builder);
  Value y = n.rows.mul(n.values, n.scale);
  if (getBias())
    y = n.rows.add(y, n.features(n.rows.wide(getBias())));
  return {n.rows.like(y, getInput())};
}

/// With h = g scale and the normalized v, x gets (h - mean h - v mean (h v)) /
/// deviation, the scale g v, and the bias g.
Values LayerNormOp::pullback(OpBuilder &builder, ValueRange gradients) {
  Normalized n(*this, builder);
  const Rows &rows = n.rows;
  Value g = rows.wide(gradients[0]), h = rows.mul(g, n.scale);
  Value along = rows.over(rows.average(rows.mul(h, n.values)));
  Value rest = rows.sub(h, rows.mul(n.values, along));
  if (!getRms())
    rest = rows.sub(rest, rows.over(rows.average(h)));
  Values result = {rows.like(rows.mul(rest, n.inverse), getInput()),
                   n.byFeature(rows.mul(g, n.values), getScale())};
  if (getBias())
    result.push_back(n.byFeature(g, getScale()));
  return result;
}
