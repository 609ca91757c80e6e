// Biases as weights of an input that is always 1; see joined_bias.h.

#include "passes/local/joined_bias.h"

#include "ir/arithmetic.h"
#include "ir/scalar_ops.h"

using namespace mlir;

namespace gradus {
namespace {

//===-- biases ------------------------------------------------------------===//

/// Returns the value before conversions of its type.
Value unconverted(Value value) {
  while (Operation *op = value.getDefiningOp())
    if (changesWidth(op))
      value = op->getOperand(0);
    else
      break;
  return value;
}

/// Returns a tensor with its axis of features, before reshapes of rows that lie
/// in front of the features.
Value withoutViews(Value value, int64_t &axis) {
  value = unconverted(value);
  while (auto view = value.getDefiningOp<ReshapeOp>()) {
    RankedTensorType from = tensorType(view.getInput()), to = view.getType();
    bool isLast = axis == to.getRank() - 1 && from.getRank() > 0 &&
                  from.getShape().back() == to.getShape().back();
    if (!isLast)
      break;
    axis = from.getRank() - 1;
    value = unconverted(view.getInput());
  }
  return value;
}

/// A tensor of rows with the axis of their features.
using Rows = std::pair<Value, int64_t>;

/// Returns what concatenates rows of features.
ConcatenateOp concatenationOf(Value value, int64_t axis) {
  auto join = value.getDefiningOp<ConcatenateOp>();
  return join && int64_t(join.getAxis()) != axis ? join : ConcatenateOp();
}

/// Adds the tensors that a tensor has the rows of.
void addRows(SmallVectorImpl<Rows> &all, Value value, int64_t axis) {
  value = withoutViews(value, axis);
  auto join = concatenationOf(value, axis);
  if (!join) {
    all.emplace_back(value, axis);
    return;
  }
  for (Value each : join.getInputs())
    addRows(all, each, axis);
}

/// Takes a tensor out of `all`, or those that it is a sum or a concatenation
/// of: the sum over its rows is that over theirs. False if one is not there.
bool take(SmallVectorImpl<Rows> &all, Value value, int64_t axis) {
  value = withoutViews(value, axis);
  if (auto found = llvm::find(all, Rows(value, axis)); found != all.end()) {
    all.erase(found);
    return true;
  }
  auto takeAll = [&](ValueRange parts) {
    return llvm::all_of(parts,
                        [&](Value part) { return take(all, part, axis); });
  };
  if (auto sum = value.getDefiningOp<arith::AddFOp>())
    return takeAll(sum->getOperands());
  auto join = concatenationOf(value, axis);
  return join && takeAll(join.getInputs());
}

/// Takes out of `all` the tensors over whose rows a gradient of [features] is
/// the sum, through conversions and axes of size 1.
bool takeSummed(SmallVectorImpl<Rows> &all, Value gradient) {
  gradient = unconverted(gradient);
  if (auto view = gradient.getDefiningOp<ReshapeOp>())
    return (tensorType(view.getInput()).getRank() == 1 ||
            view.getType().getRank() == 1) &&
           takeSummed(all, view.getInput());
  if (auto sum = gradient.getDefiningOp<arith::AddFOp>())
    return takeSummed(all, sum.getLhs()) && takeSummed(all, sum.getRhs());
  auto sum = gradient.getDefiningOp<ReduceOp>();
  if (!sum || sum.getKind() != Reduction::sum)
    return false;
  int64_t rank = tensorType(sum.getInput()).getRank();
  SmallVector<int64_t> left = axesExcept(rank, sum.getAxes());
  return left.size() == 1 && take(all, sum.getInput(), left.front());
}

/// Adds the rows of what all uses put out. False where one puts out a part of
/// them, or where they are of several layers.
bool addOutputs(SmallVectorImpl<Rows> &all, const WeightLayers &layers) {
  if (layers.kind == WeightKind::embedding ||
      layers.cutsInputs != layers.cutsOutputs)
    return false;
  for (const LayerUse &use : layers.parts.front().uses) {
    const SidePiece &piece = use.outputs.pieces.front();
    int64_t axis = use.outputs.axis;
    if (use.product.isTransposed || use.outputs.pieces.size() > 1 ||
        piece.size != tensorType(piece.value).getDimSize(axis))
      return false;
    addRows(all, piece.value, axis);
  }
  return true;
}

} // namespace

bool isBiasOf(const WeightLayers &layers, ParameterUpdate bias) {
  SmallVector<Rows> outputs;
  return addOutputs(outputs, layers) &&
         takeSummed(outputs, bias.getGradientUse().get()) && outputs.empty();
}

namespace {

//===-- second moments ----------------------------------------------------===//

Value padded(OpBuilder &builder, Value value, int64_t axis, int64_t low,
             int64_t high) {
  if (low == 0 && high == 0)
    return value;
  RankedTensorType type = tensorType(value);
  SmallVector<int64_t> shape(type.getShape()), none(type.getRank(), 0),
      before = none, after = none;
  shape[axis] += low + high;
  before[axis] = low;
  after[axis] = high;
  return PadOp::create(builder, value.getLoc(), type.clone(shape), value,
                       before, after, none, APFloat(0.0));
}

/// The means of all features over the rows, [groups, features] of f32.
Value meansOf(OpBuilder &builder, const SideRows &rows) {
  Location loc = rows.value.getLoc();
  Value wide = convert(builder, loc, rows.value, builder.getF32Type());
  SmallVector<int64_t> shape = {rows.groups, rows.features()};
  auto window = rows.window;
  if (!window)
    return reshape(builder, loc,
                   mean(builder, loc, wide,
                        axesExcept(tensorType(wide).getRank(), {rows.axis})),
                   shape);
  // The gradient of a weight with one output a group, where all gradients of
  // the output are 1, is the sum of the patches.
  SmallVector<int64_t> places(tensorType(window.getGradient()).getShape()),
      taps(window.getType().getShape());
  places[1] = rows.groups;
  taps[0] = rows.groups;
  // The window may be that of a part of the channels.
  taps[1] = tensorType(wide).getDimSize(1) / rows.groups;
  auto f32 = [&](ArrayRef<int64_t> shape) {
    return RankedTensorType::get(shape, builder.getF32Type());
  };
  Value sums = ConvolutionBackwardWeightsOp::create(
      builder, loc, f32(taps), wide, splat(builder, loc, f32(places), 1),
      window.getStrides(), window.getPadsBegin(), window.getPadsEnd(),
      window.getDilations(), rows.groups);
  int64_t count = ShapedType::getNumElements(places) / rows.groups;
  return reshape(builder, loc,
                 Arithmetic(builder, loc).scale(1.0 / count, sums), shape);
}

/// The row and the column of the 1 in the last block of each group, [groups, b,
/// b]: the means of the block's features, which stand before it.
Value border(OpBuilder &builder, Value means, int64_t size) {
  Location loc = means.getLoc();
  Arithmetic math(builder, loc);
  RankedTensorType type = tensorType(means);
  int64_t groups = type.getDimSize(0), features = type.getDimSize(1),
          place = features % size;
  RankedTensorType square = type.clone({groups, size, size});
  Value zero = splat(builder, loc, square, 0), row = zero, column = zero;
  if (place > 0) {
    Value last = SliceOp::create(builder, loc, type.clone({groups, place}),
                                 means, ArrayRef<int64_t>{0, features - place},
                                 ArrayRef<int64_t>{1, 1});
    last = padded(builder, last, 1, 0, size - place);
    row = broadcast(builder, loc, last, square.getShape(), {0, 2});
    column = broadcast(builder, loc, last, square.getShape(), {0, 1});
  }
  auto isHere = [&](int64_t axis) {
    Value index = iota(builder, loc, square.clone(builder.getI64Type()), axis);
    return math.compare(arith::CmpIPredicate::eq, index,
                        splatLike(builder, index, place));
  };
  Value inRow = isHere(1), inColumn = isHere(2);
  Value ofRow = math.select(inColumn, splat(builder, loc, square, 1), row);
  return math.select(inRow, ofRow, math.select(inColumn, column, zero));
}

} // namespace

Value withOnes(OpBuilder &builder, const SideRows &rows, Value moment) {
  Location loc = moment.getLoc();
  int64_t size = tensorType(moment).getDimSize(1), groups = rows.groups,
          before = tensorType(moment).getDimSize(0) / groups,
          count = llvm::divideCeil(rows.features() + 1, size);
  auto ofGroups = [&](Value blocks, int64_t each) {
    return reshape(builder, loc, blocks, {groups, each, size, size});
  };
  auto together = [&](Value blocks) {
    return reshape(builder, loc, blocks, {groups * count, size, size});
  };
  if (count > before)
    moment = together(padded(builder, ofGroups(moment, before), 1, 0, 1));
  Value last = border(builder, meansOf(builder, rows), size);
  last = together(padded(builder, ofGroups(last, 1), 1, count - 1, 0));
  return Arithmetic(builder, loc).add(moment, last);
}

} // namespace gradus
