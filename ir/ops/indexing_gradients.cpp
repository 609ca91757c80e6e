// The gradient rules of the ops that slice, join and gather: each op is linear,
// so its rule is the op in the other direction.

#include "ir/build.h"

using namespace mlir;
using namespace gradus;

using Values = SmallVector<Value>;

/// Reverses the dimensions of negative step, then pads with zeros between and
/// around.
Values SliceOp::pullback(OpBuilder &builder, ValueRange g) {
  RankedTensorType input = tensorType(getInput()), type = getType();
  int64_t rank = input.getRank();
  SmallVector<int64_t> reversedStart(rank, 0), reversedStep(rank, 1);
  SmallVector<int64_t> low, high, interior;
  for (int64_t d = 0; d < rank; ++d) {
    int64_t start = getStarts()[d], step = getSteps()[d];
    int64_t count = type.getDimSize(d), last = start + (count - 1) * step;
    if (step < 0) {
      reversedStart[d] = count - 1;
      reversedStep[d] = -1;
    }
    if (count == 0)
      start = last = -1;
    low.push_back(std::max<int64_t>(0, std::min(start, last)));
    high.push_back(input.getDimSize(d) - 1 - std::max(start, last));
    interior.push_back(count > 1 ? std::abs(step) - 1 : 0);
  }
  Value forward = builder.createOrFold<SliceOp>(getLoc(), type, g[0],
                                                reversedStart, reversedStep);
  return {builder.createOrFold<PadOp>(getLoc(), input, forward, low, high,
                                      interior, APFloat(0.0))};
}

Values PadOp::pullback(OpBuilder &builder, ValueRange g) {
  SmallVector<int64_t> steps;
  for (int64_t interior : getInterior())
    steps.push_back(interior + 1);
  return {builder.createOrFold<SliceOp>(getLoc(), getInput().getType(), g[0],
                                        getLow(), steps)};
}

Values ConcatenateOp::pullback(OpBuilder &builder, ValueRange g) {
  SmallVector<int64_t> starts(getType().getRank(), 0),
      steps(getType().getRank(), 1);
  Values parts;
  for (Value input : getInputs()) {
    parts.push_back(builder.createOrFold<SliceOp>(getLoc(), input.getType(),
                                                  g[0], starts, steps));
    starts[getAxis()] += tensorType(input).getDimSize(getAxis());
  }
  return parts;
}

Values GatherOp::pullback(OpBuilder &builder, ValueRange g) {
  return {ScatterAddOp::create(builder, getLoc(), getInput().getType(), g[0],
                               getIndices(), getAxis(), getBatchDims()),
          Value()};
}

/// An update whose index is out of range has gradient 0, unlike the value that
/// a gather gives there.
Values ScatterAddOp::pullback(OpBuilder &builder, ValueRange g) {
  Location loc = getLoc();
  RankedTensorType type = tensorType(getUpdates()),
                   indices = tensorType(getIndices());
  int64_t extent = getType().getDimSize(getAxis()), batch = getBatchDims();
  SmallVector<int64_t> dims = allAxes(batch);
  for (int64_t d = batch; d < indices.getRank(); ++d)
    dims.push_back(getAxis() + d - batch);
  auto compare = [&](arith::CmpIPredicate predicate, int64_t bound) {
    return builder.createOrFold<arith::CmpIOp>(
        loc, predicate, getIndices(), splat(builder, loc, indices, bound));
  };
  Value inside = builder.createOrFold<arith::AndIOp>(
      loc, compare(arith::CmpIPredicate::sge, -extent),
      compare(arith::CmpIPredicate::slt, extent));
  Value gathered = GatherOp::create(builder, loc, type, g[0], getIndices(),
                                    getAxis(), batch);
  return {builder.createOrFold<arith::SelectOp>(
              loc, broadcast(builder, loc, inside, type.getShape(), dims),
              gathered, splat(builder, loc, type, 0)),
          Value()};
}
