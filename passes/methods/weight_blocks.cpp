// Weights as matrices of blocks; see weight_blocks.h.

#include "passes/methods/weight_blocks.h"

#include "passes/numbers.h"
#include "passes/preconditioning.h"

using namespace mlir;

namespace gradus {
namespace {

int64_t sizeOf(RankedTensorType type, ArrayRef<int64_t> axes) {
  int64_t size = 1;
  for (int64_t axis : axes)
    size *= type.getDimSize(axis);
  return size;
}

RankedTensorType typeOfWeight(FactorsOp factors) {
  auto program = factors->getParentOfType<ProgramOp>();
  StateOp state = program.getState(factors.getParameter());
  return cast<RankedTensorType>(state.getType());
}

bool isIdentity(ArrayRef<int64_t> order) {
  return order == ArrayRef<int64_t>(allAxes(order.size()));
}

Value reordered(const Arithmetic &math, Value value, ArrayRef<int64_t> order) {
  return isIdentity(order) ? value
                           : transpose(math.builder, math.loc, value, order);
}

Value shaped(const Arithmetic &math, Value value, ArrayRef<int64_t> shape) {
  return tensorType(value).getShape() == shape
             ? value
             : reshape(math.builder, math.loc, value, shape);
}

/// Grows or cuts an axis at its end; what is new is 0.
Value resized(const Arithmetic &math, Value value, int64_t axis, int64_t size) {
  RankedTensorType type = tensorType(value);
  int64_t more = size - type.getDimSize(axis), rank = type.getRank();
  if (more == 0)
    return value;
  SmallVector<int64_t> shape(type.getShape()), zeros(rank, 0), ones(rank, 1),
      high(rank, 0);
  shape[axis] = size;
  if (more < 0)
    return SliceOp::create(math.builder, math.loc, type.clone(shape), value,
                           zeros, ones);
  high[axis] = more;
  return PadOp::create(math.builder, math.loc, type.clone(shape), value, zeros,
                       high, zeros, APFloat(0.0));
}

/// A matmul of batches, or of matrices where there is one alone.
Value batched(const Arithmetic &math, Value a, Value b) {
  SmallVector<int64_t> left(tensorType(a).getShape()),
      right(tensorType(b).getShape());
  if (left[0] > 1)
    return matmul(math.builder, math.loc, a, b);
  Value result = matmul(math.builder, math.loc,
                        shaped(math, a, ArrayRef<int64_t>(left).drop_front()),
                        shaped(math, b, ArrayRef<int64_t>(right).drop_front()));
  return shaped(math, result, {1, left[1], right[2]});
}

/// Returns a boolean for each element of blocks: whether it is on the diagonal.
Value onDiagonal(const Arithmetic &math, Value factor) {
  RankedTensorType type = tensorType(factor).clone(math.builder.getI64Type());
  return math.compare(arith::CmpIPredicate::eq,
                      iota(math.builder, math.loc, type, 1),
                      iota(math.builder, math.loc, type, 2));
}

/// The elements of blocks that are on the diagonal: `all` of them, and its
/// `own`, which are no padding.
struct Diagonal {
  Value all, own;
};

Diagonal diagonalOf(const Arithmetic &math, Blocks blocks, Value factor) {
  RankedTensorType type = tensorType(factor).clone(math.builder.getI64Type());
  Value row = iota(math.builder, math.loc, type, 1);
  Value all = onDiagonal(math, factor);
  if (blocks.padded() == blocks.features)
    return {all, all};
  Value block = iota(math.builder, math.loc, type, 0);
  Value ofPart = math.make<arith::RemSIOp>(
      block, splatLike(math.builder, block, blocks.count));
  Value feature = math.add(
      math.multiply(ofPart, splatLike(math.builder, block, blocks.size)), row);
  Value isOwn = math.compare(arith::CmpIPredicate::slt, feature,
                             splatLike(math.builder, feature, blocks.features));
  return {all, math.make<arith::AndIOp>(all, isOwn)};
}

} // namespace

Blocks Blocks::of(RankedTensorType factor, int64_t features, int64_t groups) {
  return {features, groups, factor.getDimSize(0) / groups,
          factor.getDimSize(1)};
}

WeightMatrix::WeightMatrix(RankedTensorType weight, ArrayRef<int64_t> inputAxes,
                           int64_t groups, MatrixForm form)
    : type_(weight), groups_(groups), joinsBias_(form.joinsBias) {
  SmallVector<int64_t> sorted(inputAxes);
  llvm::sort(sorted);
  SmallVector<int64_t> outputs = axesExcept(weight.getRank(), sorted);
  inputs_ = sizeOf(weight, inputAxes) / (form.groupsInputs ? groups : 1);
  outputs_ = sizeOf(weight, outputs) / (form.groupsInputs ? 1 : groups);
  SmallVector<int64_t> first(inputAxes), last(outputs);
  first.append(outputs);
  last.append(inputAxes.begin(), inputAxes.end());
  rowsAreInputs_ =
      groups == 1 ? isIdentity(first) && !isIdentity(last) : form.groupsInputs;
  order_ = rowsAreInputs_ ? first : last;
}

WeightMatrix::WeightMatrix(FactorsOp factors)
    : WeightMatrix(typeOfWeight(factors), factors.getAxes(),
                   factors.getGroups(),
                   {.groupsInputs = factors->hasAttr(kGroupedInputs),
                    .joinsBias = factors->hasAttr(kJoined)}) {}

SmallVector<int64_t> WeightMatrix::shapeFor(int64_t inputs) const {
  if (rowsAreInputs_)
    return {groups_, inputs, outputs_};
  return {groups_, outputs_, inputs};
}

Value WeightMatrix::ofWeight(const Arithmetic &math, Value weight,
                             Value bias) const {
  Type element = tensorType(weight ? weight : bias).getElementType();
  auto zeros = [&](int64_t inputs) {
    return splat(math.builder, math.loc,
                 RankedTensorType::get(shapeFor(inputs), element), 0);
  };
  Value matrix =
      weight ? shaped(math, reordered(math, weight, order_), shapeFor(inputs_))
             : zeros(inputs_);
  if (!joinsBias_)
    return matrix;
  Value last = bias ? shaped(math, bias, shapeFor(1)) : zeros(1);
  return ConcatenateOp::create(
      math.builder, math.loc,
      RankedTensorType::get(shapeFor(inputs()), element),
      ValueRange{matrix, last}, rowsAreInputs_ ? 1 : 2);
}

/// Some of the inputs of a matrix.
Value WeightMatrix::part(const Arithmetic &math, Value matrix, int64_t first,
                         int64_t count) const {
  if (!joinsBias_)
    return matrix;
  SmallVector<int64_t> starts(3, 0), steps(3, 1);
  starts[rowsAreInputs_ ? 1 : 2] = first;
  return SliceOp::create(math.builder, math.loc,
                         tensorType(matrix).clone(shapeFor(count)), matrix,
                         starts, steps);
}

Value WeightMatrix::toWeight(const Arithmetic &math, Value matrix) const {
  SmallVector<int64_t> moved, back(order_.size());
  for (auto [position, axis] : llvm::enumerate(order_)) {
    moved.push_back(type_.getDimSize(axis));
    back[axis] = position;
  }
  Value weight = part(math, matrix, 0, inputs_);
  return reordered(math, shaped(math, weight, moved), back);
}

Value WeightMatrix::toBias(const Arithmetic &math, Value matrix) const {
  return shaped(math, part(math, matrix, inputs_, 1), {groups_ * outputs_});
}

Value multiplyRows(const Arithmetic &math, Blocks blocks, Value diagonal,
                   Value matrix) {
  RankedTensorType type = tensorType(matrix);
  int64_t columns = type.getDimSize(2);
  Value rows = resized(math, matrix, 1, blocks.padded());
  rows =
      shaped(math, rows, {blocks.groups * blocks.count, blocks.size, columns});
  Value result = batched(math, diagonal, rows);
  result = shaped(math, result, {blocks.groups, blocks.padded(), columns});
  return resized(math, result, 1, blocks.features);
}

Value multiplyColumns(const Arithmetic &math, Blocks blocks, Value matrix,
                      Value diagonal) {
  int64_t rows = tensorType(matrix).getDimSize(1), groups = blocks.groups,
          count = blocks.count, size = blocks.size;
  Value columns = resized(math, matrix, 2, blocks.padded());
  if (count > 1) {
    columns = shaped(math, columns, {groups, rows, count, size});
    columns = reordered(math, columns, {0, 2, 1, 3});
    columns = shaped(math, columns, {groups * count, rows, size});
  }
  Value result = batched(math, columns, diagonal);
  if (count > 1) {
    result = shaped(math, result, {groups, count, rows, size});
    result = reordered(math, result, {0, 2, 1, 3});
    result = shaped(math, result, {groups, rows, count * size});
  }
  return resized(math, result, 2, blocks.features);
}

Value timesSide(const Arithmetic &math, const WeightMatrix &form, bool isInputs,
                Value matrix, Value diagonal) {
  Blocks blocks =
      Blocks::of(tensorType(diagonal),
                 isInputs ? form.inputs() : form.outputs(), form.groups());
  return form.rowsAreInputs() == isInputs
             ? multiplyRows(math, blocks, diagonal, matrix)
             : multiplyColumns(math, blocks, matrix, diagonal);
}

void multiplyGradient(const Arithmetic &math, ParameterUpdate update,
                      FactorsOp factors, bool isInputs, Value diagonal) {
  OpOperand &gradient = update.getGradientUse();
  Type own = tensorType(gradient.get()).getElementType(),
       wide = tensorType(diagonal).getElementType();
  WeightMatrix form(factors);
  Value matrix = form.ofWeight(
      math, convert(math.builder, math.loc, gradient.get(), wide));
  matrix = timesSide(math, form, isInputs, matrix, diagonal);
  gradient.set(
      convert(math.builder, math.loc, form.toWeight(math, matrix), own));
}

Value damped(const Arithmetic &math, Blocks blocks, Value factor,
             Value damping) {
  Diagonal diagonal = diagonalOf(math, blocks, factor);
  Value more = math.add(factor, spreadLike(math, damping, factor));
  Value result = math.select(diagonal.own, more, factor);
  if (blocks.padded() == blocks.features)
    return result;
  Value padding = math.make<arith::XOrIOp>(diagonal.all, diagonal.own);
  return math.select(padding, math.number(1, factor), result);
}

Value meanOfDiagonal(const Arithmetic &math, Blocks blocks, Value factor) {
  Diagonal diagonal = diagonalOf(math, blocks, factor);
  Value own = math.select(diagonal.own, factor, math.number(0, factor));
  Value total = sum(math.builder, math.loc, own, {0, 1, 2});
  return math.scale(1.0 / (blocks.features * blocks.groups), total);
}

Value inversesOfMeans(const Arithmetic &math, Value factor, Value damping) {
  RankedTensorType type = tensorType(factor);
  Value diagonal = onDiagonal(math, factor), zero = math.number(0, factor);
  Value total =
      sum(math.builder, math.loc, math.select(diagonal, factor, zero), {1, 2});
  Value mean = math.scale(1.0 / type.getDimSize(1), total);
  Value inverse = math.divide(math.number(1, mean),
                              math.add(mean, spreadLike(math, damping, mean)));
  Value isFinite = math.equal(math.multiply(mean, math.number(0, mean)),
                              math.number(0, mean));
  inverse = math.select(isFinite, inverse, math.number(0, mean));
  return math.select(
      diagonal,
      broadcast(math.builder, math.loc, inverse, type.getShape(), {0}), zero);
}

Value areFinite(const Arithmetic &math, Value blocks) {
  Value zeros = math.multiply(blocks, math.number(0, blocks));
  Value total = sum(math.builder, math.loc, zeros, {1, 2});
  return math.equal(total, math.number(0, total));
}

BlockInverses inversesOf(const Arithmetic &math, Blocks blocks, Value factor,
                         Value damping, Value old, double scale) {
  Value inverse = InverseOp::create(math.builder, math.loc,
                                    damped(math, blocks, factor, damping));
  Value finite = areFinite(math, inverse);
  Value first = inversesOfMeans(math, factor, damping);
  if (scale != 1) {
    inverse = math.scale(scale, inverse);
    first = math.scale(scale, first);
  }
  auto ofBlocks = [&](Value each) {
    return broadcast(math.builder, math.loc, each,
                     tensorType(inverse).getShape(), {0});
  };
  Value size = sum(math.builder, math.loc, math.multiply(old, old), {1, 2});
  Value isThere = math.greater(size, math.number(0, size));
  Value others = math.select(ofBlocks(isThere), old, first);
  return {math.select(ofBlocks(finite), inverse, others), finite};
}

} // namespace gradus
