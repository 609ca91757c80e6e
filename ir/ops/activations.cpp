// Activations with a parameter: their scalar form, their gradients, and the
// reference evaluation.

#include "ir/build.h"
#include "ir/evaluator/evaluator.h"

using namespace mlir;
using namespace gradus;

using Results = FailureOr<SmallVector<HostTensor>>;
using Values = SmallVector<Value>;

template <typename Function>
static Results mapEach(HostTensor tensor, Function function) {
  for (double &value : tensor.floats)
    value = function(value);
  return SmallVector<HostTensor>{std::move(tensor)};
}

static Value compare(OpBuilder &builder, Location loc,
                     arith::CmpFPredicate predicate, Value a, double number) {
  return arith::CmpFOp::create(builder, loc, predicate, a,
                               splat(builder, loc, a.getType(), number));
}

//===-- clip --------------------------------------------------------------===//

/// maximumf and minimumf keep NaN.
Value ClipOp::buildScalar(OpBuilder &builder, ValueRange scalars) {
  Type type = scalars[0].getType();
  Value low = splat(builder, getLoc(), type, getLow().convertToDouble());
  Value high = splat(builder, getLoc(), type, getHigh().convertToDouble());
  Value raised = arith::MaximumFOp::create(builder, getLoc(), scalars[0], low);
  return arith::MinimumFOp::create(builder, getLoc(), raised, high);
}

Values ClipOp::pullback(OpBuilder &builder, ValueRange g) {
  Value above = compare(builder, getLoc(), arith::CmpFPredicate::OGT,
                        getResult(), getLow().convertToDouble());
  Value below = compare(builder, getLoc(), arith::CmpFPredicate::OLT,
                        getResult(), getHigh().convertToDouble());
  Value between = arith::AndIOp::create(builder, getLoc(), above, below);
  Value zero = splatLike(builder, g[0], 0);
  return {arith::SelectOp::create(builder, getLoc(), between, g[0], zero)};
}

Results ClipOp::evaluate(ArrayRef<HostTensor> operands) {
  double low = getLow().convertToDouble(), high = getHigh().convertToDouble();
  return mapEach(operands[0], [&](double x) {
    double raised = x < low ? low : x; // NaN stays NaN.
    return raised > high ? high : raised;
  });
}

//===-- leaky relu --------------------------------------------------------===//

Value LeakyReluOp::buildScalar(OpBuilder &builder, ValueRange scalars) {
  Value x = scalars[0];
  Value slope =
      splat(builder, getLoc(), x.getType(), getSlope().convertToDouble());
  Value positive = compare(builder, getLoc(), arith::CmpFPredicate::OGT, x, 0);
  Value leaked = arith::MulFOp::create(builder, getLoc(), slope, x);
  return arith::SelectOp::create(builder, getLoc(), positive, x, leaked);
}

/// Uses the result if it has the sign of the input.
Values LeakyReluOp::pullback(OpBuilder &builder, ValueRange g) {
  double slope = getSlope().convertToDouble();
  Value asked = slope > 0 ? getResult() : getInput();
  Value positive =
      compare(builder, getLoc(), arith::CmpFPredicate::OGT, asked, 0);
  Value leaked = arith::MulFOp::create(builder, getLoc(), g[0],
                                       splatLike(builder, g[0], slope));
  return {arith::SelectOp::create(builder, getLoc(), positive, g[0], leaked)};
}

Results LeakyReluOp::evaluate(ArrayRef<HostTensor> operands) {
  double slope = getSlope().convertToDouble();
  return mapEach(operands[0], [&](double x) { return x > 0 ? x : slope * x; });
}
