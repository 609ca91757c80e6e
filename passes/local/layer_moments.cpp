// Measures second moments of layers; see layer_moments.h.

#include "passes/local/layer_moments.h"

#include "ir/arithmetic.h"
#include "passes/local/joined_bias.h"
#include "passes/preconditioning.h"

using namespace mlir;

namespace gradus {

Value takePiece(OpBuilder &builder, const SidePiece &piece, int64_t axis) {
  RankedTensorType type = tensorType(piece.value);
  if (piece.size == type.getDimSize(axis))
    return piece.value;
  SmallVector<int64_t> shape(type.getShape()), starts(type.getRank(), 0),
      steps(type.getRank(), 1);
  shape[axis] = piece.size;
  starts[axis] = piece.from;
  return SliceOp::create(builder, piece.value.getLoc(), type.clone(shape),
                         piece.value, starts, steps);
}

namespace {

/// Whether a window is one element that moves by one, so that patches are
/// elements.
bool isPlain(ConvolutionBackwardWeightsOp op) {
  auto all = [](ArrayRef<int64_t> numbers, int64_t value) {
    return llvm::all_of(numbers, [&](int64_t each) { return each == value; });
  };
  return all(op.getType().getShape().drop_front(2), 1) &&
         all(op.getStrides(), 1) && all(op.getPadsBegin(), 0) &&
         all(op.getPadsEnd(), 0);
}

/// Values next to each other along an axis.
Value concatenated(OpBuilder &builder, ArrayRef<Value> parts, int64_t axis) {
  if (parts.size() == 1)
    return parts.front();
  RankedTensorType type = tensorType(parts.front());
  SmallVector<int64_t> shape(type.getShape());
  shape[axis] = 0;
  for (Value each : parts)
    shape[axis] += tensorType(each).getDimSize(axis);
  return ConcatenateOp::create(builder, parts.front().getLoc(),
                               type.clone(shape), parts, axis);
}

/// The pieces of a side next to each other.
Value wholeOf(OpBuilder &builder, const UseSide &side) {
  SmallVector<Value> parts;
  Arithmetic math(builder, side.pieces.front().value.getLoc());
  for (auto [i, piece] : llvm::enumerate(side.pieces)) {
    Value value = takePiece(builder, piece, side.axis);
    if (i > 0 && piece.to == side.pieces[i - 1].to)
      parts.back() = math.add(parts.back(), value);
    else
      parts.push_back(value);
  }
  return concatenated(builder, parts, side.axis);
}

/// The rows of a side of a use, cut into layers.
SideRows rowsOf(OpBuilder &builder, const UseSide &side, int64_t groups) {
  ConvolutionBackwardWeightsOp window = side.window;
  if (window && isPlain(window))
    window = {};
  return {wholeOf(builder, side), side.axis, window, groups};
}

/// Gives f32, whatever the layer computes in. Blocks have room for `ones` more
/// features.
Value gram(OpBuilder &builder, const SideRows &side, int64_t most,
           int64_t ones) {
  Location loc = side.value.getLoc();
  int64_t features = side.features(), block = std::min(most, features + ones),
          blocks = llvm::divideCeil(features, block);
  auto type = RankedTensorType::get(
      {side.groups * blocks, block, block},
      computeType(tensorType(side.value).getElementType()));
  auto op = side.window;
  Value factor =
      op ? GramOp::create(builder, loc, type, side.value, IntegerAttr(),
                          builder.getDenseI64ArrayAttr(side.taps()),
                          op.getStrides(), op.getPadsBegin(), op.getPadsEnd(),
                          op.getDilations(), side.groups, block)
         : GramOp::create(builder, loc, type, side.value,
                          builder.getI64IntegerAttr(side.axis),
                          DenseI64ArrayAttr(), {}, {}, {}, {}, side.groups,
                          block);
  return convert(builder, loc, factor, builder.getF32Type());
}

} // namespace

int64_t SideRows::features() const {
  RankedTensorType type = tensorType(value);
  int64_t count = type.getDimSize(axis);
  if (window)
    count *= llvm::product_of(taps());
  return count / groups;
}

ArrayRef<int64_t> SideRows::taps() const {
  auto op = window; // whose methods are not const
  return op.getType().getShape().drop_front(2);
}

int64_t SideRows::count() const {
  RankedTensorType type = tensorType(value);
  if (!window)
    return type.getNumElements() / type.getDimSize(axis);
  auto op = window; // whose methods are not const
  return type.getDimSize(0) *
         llvm::product_of(
             tensorType(op.getGradient()).getShape().drop_front(2));
}

int64_t featuresOf(const WeightLayers &layers, RankedTensorType weight,
                   bool isInputs) {
  int64_t features = 1;
  for (auto [axis, size] : llvm::enumerate(weight.getShape()))
    if (llvm::is_contained(layers.axes, int64_t(axis)) == isInputs)
      features *= size;
  return layers.groupsInputs == isInputs ? features / layers.groups : features;
}

std::optional<int64_t> positionsOf(const WeightLayers &layers) {
  if (layers.kind != WeightKind::convolution)
    return 1;
  SmallVector<int64_t> counts;
  for (const LayerUses &part : layers.parts) {
    counts.push_back(0);
    for (const LayerUse &use : part.uses) {
      Value places =
          use.product.isTransposed ? use.product.inputs : use.product.outputs;
      counts.back() +=
          llvm::product_of(tensorType(places).getShape().drop_front(2));
    }
  }
  if (!llvm::all_equal(counts))
    return {};
  return counts.front();
}

Value secondMoment(OpBuilder &builder, ArrayRef<SideRows> rows, int64_t block,
                   bool hasOnes) {
  double count = 0;
  for (const SideRows &each : rows)
    count += each.count();
  Value mean;
  for (const SideRows &each : rows) {
    Value moment = gram(builder, each, block, hasOnes);
    if (hasOnes)
      moment = withOnes(builder, each, moment);
    Arithmetic math(builder, moment.getLoc());
    if (rows.size() > 1)
      moment = math.scale(each.count() / count, moment);
    mean = mean ? math.add(mean, moment) : moment;
  }
  return mean;
}

Value momentsOf(OpBuilder &builder, const WeightLayers &layers, bool isInputs,
                function_ref<Value(MutableArrayRef<SideRows>)> moment) {
  bool isCut = isInputs ? layers.cutsInputs : layers.cutsOutputs;
  SmallVector<Value> blocks;
  for (const LayerUses &part : layers.parts) {
    SmallVector<SideRows> rows;
    for (const LayerUse &use : part.uses)
      rows.push_back(rowsOf(builder, isInputs ? use.inputs : use.outputs,
                            isCut ? part.count : 1));
    blocks.append(isCut ? 1 : part.count, moment(rows));
  }
  return concatenated(builder, blocks, /*axis=*/0);
}

Value momentsOf(OpBuilder &builder, const WeightLayers &layers, bool isInputs,
                int64_t block) {
  return momentsOf(builder, layers, isInputs, [&](ArrayRef<SideRows> rows) {
    return secondMoment(builder, rows, block);
  });
}

FactorsOp addFactors(OpBuilder &builder, ParameterUpdate update,
                     const WeightLayers &layers, Value inputs, Value outputs) {
  auto factors = FactorsOp::create(
      builder, update.getLoc(),
      FlatSymbolRefAttr::get(builder.getContext(), update.getParameterName()),
      inputs, outputs, builder.getStringAttr(nameOf(layers.kind)),
      builder.getDenseI64ArrayAttr(layers.axes),
      builder.getI64IntegerAttr(layers.groups),
      builder.getI64IntegerAttr(positionsOf(layers).value_or(1)), UnitAttr());
  if (layers.groupsInputs)
    factors->setAttr(kGroupedInputs, builder.getUnitAttr());
  return factors;
}

} // namespace gradus
