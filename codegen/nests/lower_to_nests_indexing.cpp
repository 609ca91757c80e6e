// Lowers slices, padding and concatenation to nests that read with guards, and
// ops with indices known at run time, and the selection of such, to commands of
// their own.

#include "codegen/nests/lower_to_nests.h"

#include "llvm/ADT/TypeSwitch.h"

namespace gradus {
namespace {
using namespace mlir;

//===-- slice, pad --------------------------------------------------------===//

Value lower(OpBuilder &builder, SliceOp op) {
  Domain domain(builder.getContext());
  auto position = domain.parallel(op.getType().getShape());
  SmallVector<AffineExpr> from;
  for (auto [at, start, step] :
       llvm::zip(position, op.getStarts(), op.getSteps()))
    from.push_back(at * step + start);
  NestRead read{op.getInput(), domain.thenMap(from), {}};
  return elementwiseNest(builder, op.getLoc(), domain, position, op.getType(),
                         read, passOn)
      .getResult(0);
}

/// Per-dimension constraints under which an output index maps to an input
/// element.
struct Inside {
  SmallVector<AffineExpr> conditions;
  SmallVector<bool> equalities;

  void atLeastZero(AffineExpr expression) { add(expression, false); }
  void zero(AffineExpr expression) { add(expression, true); }
  IntegerSet over(unsigned dims) const {
    return conditions.empty()
               ? IntegerSet()
               : IntegerSet::get(dims, 0, conditions, equalities);
  }

private:
  void add(AffineExpr expression, bool equality) {
    conditions.push_back(expression);
    equalities.push_back(equality);
  }
};

Value lower(OpBuilder &builder, PadOp op) {
  Domain domain(builder.getContext());
  auto position = domain.parallel(op.getType().getShape());
  ArrayRef<int64_t> shape = shapeOf(op.getInput());
  Inside inside;
  SmallVector<AffineExpr> from;
  for (auto [d, at] : llvm::enumerate(position)) {
    int64_t low = op.getLow()[d], stride = op.getInterior()[d] + 1;
    AffineExpr distance = at - low;
    from.push_back(distance.floorDiv(stride));
    if (low > 0)
      inside.atLeastZero(distance);
    if (op.getHigh()[d] > 0)
      inside.atLeastZero(low + (shape[d] - 1) * stride - at);
    if (stride > 1)
      inside.zero(distance % stride);
  }
  unsigned dims = domain.elementwise().dims();
  IntegerSet guard = inside.over(dims);
  double fill = op.getValue().convertToDouble();
  auto then = [&](OpBuilder &body, Location location, ValueRange values) {
    if (fill == 0 || !guard)
      return SmallVector<Value>{values.front()};
    Value other = splat(body, location, values.front().getType(), fill);
    Value condition = emitInside(body, location, guard);
    return SmallVector<Value>{arith::SelectOp::create(body, location, condition,
                                                      values.front(), other)};
  };
  NestRead read{op.getInput(), domain.thenMap(from), guard};
  return elementwiseNest(builder, op.getLoc(), domain, position, op.getType(),
                         read, then)
      .getResult(0);
}

//===-- concatenate -------------------------------------------------------===//

/// Concatenates with one nest, in which each element checks every part, so
/// there should be only a few parts.
Value concatenateFew(OpBuilder &builder, Location location, ValueRange parts,
                     RankedTensorType type, int64_t axis) {
  Domain domain(builder.getContext());
  auto position = domain.parallel(type.getShape());
  unsigned dims = domain.elementwise().dims();
  SmallVector<NestRead> reads;
  SmallVector<IntegerSet> before; // for each part: the index precedes its end
  int64_t start = 0;
  for (Value part : parts) {
    int64_t size = shapeOf(part)[axis];
    SmallVector<AffineExpr> from(position);
    from[axis] = position[axis] - start;
    AffineExpr left = start + size - 1 - position[axis];
    reads.push_back(
        {part, domain.thenMap(from),
         IntegerSet::get(dims, 0, {from[axis], left}, {false, false})});
    before.push_back(IntegerSet::get(dims, 0, {left}, {false}));
    start += size;
  }
  auto then = [&](OpBuilder &body, Location where, ValueRange values) {
    Value chosen = values.back();
    for (int i = int(values.size()) - 2; i >= 0; --i)
      chosen = arith::SelectOp::create(
          body, where, emitInside(body, where, before[i]), values[i], chosen);
    return SmallVector<Value>{chosen};
  };
  return elementwiseNest(builder, location, domain, position, type, reads, then)
      .getResult(0);
}

RankedTensorType concatenatedType(ValueRange parts, int64_t axis) {
  auto first = cast<RankedTensorType>(parts.front().getType());
  SmallVector<int64_t> shape(first.getShape());
  shape[axis] = 0;
  for (Value part : parts)
    shape[axis] += shapeOf(part)[axis];
  return first.clone(shape);
}

/// Concatenates many parts in groups.
Value lower(OpBuilder &builder, ConcatenateOp op) {
  constexpr size_t most = 8;
  SmallVector<Value> parts(op.getInputs());
  while (parts.size() > 1) {
    SmallVector<Value> groups;
    for (size_t first = 0; first < parts.size(); first += most) {
      auto group = ArrayRef(parts).drop_front(first).take_front(most);
      groups.push_back(
          group.size() == 1
              ? group.front()
              : concatenateFew(builder, op.getLoc(), group,
                               concatenatedType(group, op.getAxis()),
                               op.getAxis()));
    }
    parts = groups;
  }
  return parts.front();
}

//===-- gather, scatter_add -----------------------------------------------===//

Value lower(OpBuilder &builder, GatherOp op) {
  return plan::TakeOp::create(builder, op.getLoc(), op.getType(), op.getInput(),
                              op.getIndices(), Value(), op.getAxis(),
                              op.getBatchDims())
      .getResult();
}

Value lower(OpBuilder &builder, ScatterAddOp op) {
  return plan::AddAtOp::create(builder, op.getLoc(), op.getType(),
                               op.getUpdates(), op.getIndices(), Value(),
                               op.getAxis(), op.getBatchDims())
      .getResult();
}

} // namespace

SmallVector<Value> lowerSelection(OpBuilder &builder, Operation *op) {
  auto select = dyn_cast<SelectLargestOp>(op);
  if (!select)
    return {};
  return plan::SelectOp::create(builder, op->getLoc(), select.getResultTypes(),
                                select.getInput(), select.getThreshold())
      .getResults();
}

// Op list: it calls the overloads of `lower`.
Value lowerIndexingOp(OpBuilder &builder, Operation *op) {
  return llvm::TypeSwitch<Operation *, Value>(op)
      .Case<SliceOp, PadOp, ConcatenateOp, GatherOp, ScatterAddOp>(
          [&](auto known) { return lower(builder, known); })
      .Default(Value());
}

} // namespace gradus
