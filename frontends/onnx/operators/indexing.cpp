// ONNX ops that read or write at indices.

#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/operators.h"
#include "frontends/onnx/operators/scatter_reduction.h"
#include "frontends/onnx/operators/slicing.h"
#include "frontends/onnx/pytorch/aten_call.h"

#include "ir/gradient_ops.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
  return tensorType(value).clone(shape);
}

//===-- gather ------------------------------------------------------------===//

Value gathered(const Building &b, Value input, Value indices, int64_t axis,
               int64_t batchDims = 0) {
  ArrayRef<int64_t> from = tensorType(input).getShape();
  SmallVector<int64_t> shape(from.take_front(axis));
  llvm::append_range(shape,
                     tensorType(indices).getShape().drop_front(batchDims));
  llvm::append_range(shape, from.drop_front(axis + 1));
  return b.make<GatherOp>(withShape(input, shape), input, indices, axis,
                          batchDims);
}

/// Known indices must be in range; the error names the first that is not.
absl::Status checkIndices(const Node &node, const Constant *indices,
                          int64_t size) {
  if (!indices)
    return absl::OkStatus();
  for (int64_t index : indices->tensor.integers)
    if (index < -size || index >= size)
      return node.error("index ", index, " is out of range for ", size,
                        " elements");
  return absl::OkStatus();
}

/// The slice that equals a gather by known, evenly spaced indices; nothing if
/// there is none.
std::optional<Cut> asCut(const Constant *indices, int64_t size) {
  if (!indices || indices->tensor.integers.empty())
    return std::nullopt;
  SmallVector<int64_t> places;
  for (int64_t index : indices->tensor.integers)
    places.push_back(index < 0 ? index + size : index);
  int64_t step = places.size() > 1 ? places[1] - places[0] : 1;
  for (size_t i = 1; i < places.size(); ++i)
    if (places[i] - places[i - 1] != step || step == 0)
      return std::nullopt;
  return Cut{places[0], int64_t(places.size()), step};
}

/// Defines looked-up rows of an embedding; the padding index passes no
/// gradient.
absl::Status defineRows(const Building &b, Value rows, Value indices) {
  std::optional<int64_t> padding = paddingIndex(b.node);
  if (!padding || !Building::isFloat(rows) || b.node.integer("axis", 0) != 0)
    return b.importer.define(b.node, 0, rows);
  RankedTensorType type = tensorType(indices);
  Value isPadding = b.compare(arith::CmpIPredicate::eq, indices,
                              splat(b.builder, b.loc, type, double(*padding)));
  Value everywhere =
      broadcast(b.builder, b.loc, isPadding, tensorType(rows).getShape(),
                allAxes(type.getRank()));
  Value kept = b.make<StopGradientOp>(rows, Value());
  return b.importer.define(b.node, 0, b.select(everywhere, kept, rows));
}

absl::Status gather(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value indices, importer.value(node, 1));
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, b.axis(tensorType(input).getRank(), 0));
  if (!isa<IntegerType>(tensorType(indices).getElementType()))
    return node.error("expected a tensor and integer indices");
  ArrayRef<int64_t> from = tensorType(input).getShape();
  const Constant *known = importer.constant(node, 1);
  GRADUS_RETURN_IF_ERROR(checkIndices(node, known, from[axis]));
  auto even = asCut(known, from[axis]);
  if (!even)
    return defineRows(b, gathered(b, input, indices, axis), indices);
  SmallVector<Cut> cuts;
  for (int64_t extent : from)
    cuts.push_back({0, extent, 1});
  cuts[axis] = *even;
  SmallVector<int64_t> shape(from.take_front(axis));
  llvm::append_range(shape, tensorType(indices).getShape());
  llvm::append_range(shape, from.drop_front(axis + 1));
  return defineRows(b, reshape(b.builder, b.loc, cut(b, input, cuts), shape),
                    indices);
}

/// The permutation that moves an axis to the end; inverseOf() undoes it.
SmallVector<int64_t> axisLast(int64_t rank, int64_t axis) {
  SmallVector<int64_t> order = axesExcept(rank, axis);
  order.push_back(axis);
  return order;
}

SmallVector<int64_t> inverseOf(ArrayRef<int64_t> order) {
  SmallVector<int64_t> inverse(order.size());
  for (auto [i, axis] : llvm::enumerate(order))
    inverse[axis] = i;
  return inverse;
}

/// Slices a tensor, whose axis is last, to the indices' size in the other
/// dimensions.
Value alignedWith(const Building &b, Value input, Value indices, int64_t axis) {
  ArrayRef<int64_t> shape = tensorType(indices).getShape();
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (d != axis)
      input = b.cutAlong(input, d, 0, shape[d]);
  return transpose(b.builder, b.loc, input, axisLast(shape.size(), axis));
}

absl::Status checkElements(const Node &node, Value input, Value indices,
                           int64_t axis) {
  ArrayRef<int64_t> from = tensorType(input).getShape(),
                    at = tensorType(indices).getShape();
  bool fits = from.size() == at.size();
  for (size_t d = 0; fits && d < from.size(); ++d)
    fits = int64_t(d) == axis || at[d] <= from[d];
  return fits ? absl::OkStatus()
              : node.error("indices of shape [", joined(at),
                           "] do not fit a tensor of shape [", joined(from),
                           "]");
}

absl::Status gatherElements(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value indices, importer.value(node, 1));
  int64_t rank = tensorType(input).getRank();
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, b.axis(rank, 0));
  GRADUS_RETURN_IF_ERROR(checkElements(node, input, indices, axis));
  SmallVector<int64_t> order = axisLast(rank, axis);
  Value last = transpose(b.builder, b.loc, indices, order);
  Value taken = gathered(b, alignedWith(b, input, indices, axis), last,
                         rank - 1, rank - 1);
  return importer.define(node, 0,
                         transpose(b.builder, b.loc, taken, inverseOf(order)));
}

//===-- index tuples ------------------------------------------------------===//

/// Converts tuples along the last dimension of `indices` to row-major positions
/// in `extents`; -size (out of range) if an index is out of range.
Value positionsOf(const Building &b, Value indices, ArrayRef<int64_t> extents) {
  int64_t last = tensorType(indices).getRank() - 1, size = 1;
  ArrayRef<int64_t> shape = tensorType(indices).getShape().drop_back();
  if (extents.size() == 1)
    return b.shaped(indices, shape);
  for (int64_t extent : extents)
    size *= extent;
  Value position, inside;
  for (auto [i, extent] : llvm::enumerate(extents)) {
    Value index =
        reshape(b.builder, b.loc, b.cutAlong(indices, last, i, 1), shape);
    Value zero = b.number(0, index), bound = b.number(extent, index);
    Value fromEnd = b.make<arith::AddIOp>(index, bound);
    Value negative = b.compare(arith::CmpIPredicate::slt, index, zero);
    index = b.select(negative, fromEnd, index);
    Value fits = b.compare(arith::CmpIPredicate::ult, index, bound);
    position = position ? b.make<arith::AddIOp>(
                              b.make<arith::MulIOp>(position, bound), index)
                        : index;
    inside = inside ? b.make<arith::AndIOp>(inside, fits) : fits;
  }
  Value outside = b.number(size, position);
  return b.select(inside, position, outside);
}

/// Collapses the dimensions [first, first + count) of a tensor to one.
Value withOne(const Building &b, Value input, int64_t first, int64_t count) {
  ArrayRef<int64_t> from = tensorType(input).getShape();
  SmallVector<int64_t> shape(from.take_front(first));
  shape.push_back(1);
  for (int64_t extent : from.slice(first, count))
    shape.back() *= extent;
  llvm::append_range(shape, from.drop_front(first + count));
  return reshape(b.builder, b.loc, input, shape);
}

absl::Status gatherND(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value indices, importer.value(node, 1));
  ArrayRef<int64_t> from = tensorType(input).getShape(),
                    at = tensorType(indices).getShape();
  int64_t batch = node.integer("batch_dims", 0);
  if (at.empty() || batch < 0 || batch >= int64_t(at.size()) ||
      batch + at.back() > int64_t(from.size()) || at.back() < 1 ||
      from.take_front(batch) != at.take_front(batch))
    return node.error("indices of shape [", joined(at),
                      "] do not fit a tensor of shape [", joined(from), "]");
  Value positions = positionsOf(b, indices, from.slice(batch, at.back()));
  Value merged = withOne(b, input, batch, at.back());
  return importer.define(node, 0, gathered(b, merged, positions, batch, batch));
}

/// Whether a scatter needs scatterReduced().
bool reduces(const Node &node) {
  std::string reduction = node.text("reduction", "none");
  return reduction == "max" || reduction == "min" || reduction == "mul";
}

absl::Status judgeScatter(const Node &node) {
  std::string reduction = node.text("reduction", "none");
  if (reduction == "none" || reduction == "add" || reduces(node))
    return absl::OkStatus();
  return node.error("reduction is \"", reduction,
                    "\", expected none, add, mul, max or min");
}

/// `data` with `updates` written where a scatter_add writes them.
Value scattered(const Building &b, Value data, Value updates,
                llvm::function_ref<Value(Value)> scatter) {
  Value added = scatter(updates);
  if (b.node.text("reduction", "none") == "add")
    return isNumber(data, 0) ? added : b.add(data, added);
  Type element = b.builder.getI32Type();
  Value ones = splat(b.builder, b.loc, tensorType(updates).clone(element), 1);
  Value hits = scatter(ones);
  Value hit = b.compare(arith::CmpIPredicate::ne, hits, b.number(0, hits));
  return b.select(hit, added, data);
}

/// The products of the sizes before, along and after an axis.
SmallVector<int64_t> aroundAxis(ArrayRef<int64_t> shape, int64_t axis) {
  return {llvm::product_of(shape.take_front(axis)), shape[axis],
          llvm::product_of(shape.drop_front(axis + 1))};
}

/// Completes `part` from `whole` where that is larger, except along `axis`.
Value completed(const Building &b, Value part, Value whole, int64_t axis) {
  ArrayRef<int64_t> to = tensorType(whole).getShape();
  SmallVector<int64_t> shape(tensorType(part).getShape());
  for (int64_t d = 0; d < int64_t(to.size()); ++d) {
    if (d == axis || shape[d] == to[d])
      continue;
    Value rest = b.cutAlong(whole, d, shape[d], to[d] - shape[d]);
    for (int64_t other = d + 1; other < int64_t(to.size()); ++other)
      rest = b.cutAlong(rest, other, 0, shape[other]);
    shape[d] = to[d];
    part = b.make<ConcatenateOp>(withShape(part, shape),
                                 ArrayRef<Value>{part, rest}, d);
  }
  return part;
}

absl::StatusOr<Value> reducedElements(const Building &b, Value data,
                                      Value indices, Value updates,
                                      int64_t axis) {
  ArrayRef<int64_t> at = tensorType(indices).getShape();
  Value part = data;
  for (int64_t d = 0; d < int64_t(at.size()); ++d)
    if (d != axis)
      part = b.cutAlong(part, d, 0, at[d]);
  ArrayRef<int64_t> shape = tensorType(part).getShape();
  SmallVector<int64_t> from = aroundAxis(at, axis);
  GRADUS_ASSIGN_OR_RETURN(
      Value result,
      scatterReduced(b, b.node.text("reduction", "none"),
                     b.shaped(part, aroundAxis(shape, axis)),
                     b.shaped(indices, from), b.shaped(updates, from)));
  return completed(b, b.shaped(result, shape), data, axis);
}

absl::StatusOr<Value> reducedSlices(const Building &b, Value merged,
                                    Value positions, Value updates) {
  SmallVector<int64_t> shape = aroundAxis(tensorType(merged).getShape(), 0);
  SmallVector<int64_t> from = {1, tensorType(positions).getNumElements(),
                               shape[2]};
  Value at =
      broadcast(b.builder, b.loc, b.shaped(positions, {from[1]}), from, {1});
  return scatterReduced(b, b.node.text("reduction", "none"),
                        b.shaped(merged, shape), at, b.shaped(updates, from));
}

absl::Status scatterND(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value data, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value indices, importer.value(node, 1));
  GRADUS_ASSIGN_OR_RETURN(Value updates, importer.value(node, 2));
  ArrayRef<int64_t> shape = tensorType(data).getShape(),
                    at = tensorType(indices).getShape();
  if (at.empty() || at.back() < 1 || at.back() > int64_t(shape.size()))
    return node.error("indices of shape [", joined(at),
                      "] do not fit a tensor of shape [", joined(shape), "]");
  SmallVector<int64_t> expected(at.drop_back());
  llvm::append_range(expected, shape.drop_front(at.back()));
  if (ArrayRef<int64_t>(expected) != tensorType(updates).getShape())
    return node.error("its updates have shape [",
                      joined(tensorType(updates).getShape()), "], expected [",
                      joined(expected), "]");
  Value positions = positionsOf(b, indices, shape.take_front(at.back()));
  Value whole = withOne(b, data, 0, at.back());
  bool ours = reduces(node);
  if (ours) {
    GRADUS_ASSIGN_OR_RETURN(Value result,
                            reducedSlices(b, whole, positions, updates));
    return importer.define(node, 0, b.shaped(result, shape));
  }
  Type merged = whole.getType();
  auto scatter = [&](Value values) {
    Type type = cast<RankedTensorType>(merged).clone(
        tensorType(values).getElementType());
    Value sum = b.make<ScatterAddOp>(type, values, positions, 0, 0);
    return reshape(b.builder, b.loc, sum, shape);
  };
  return importer.define(node, 0, scattered(b, data, updates, scatter));
}

absl::Status scatterElements(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value data, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value indices, importer.value(node, 1));
  GRADUS_ASSIGN_OR_RETURN(Value updates, importer.value(node, 2));
  RankedTensorType type = tensorType(data);
  int64_t rank = type.getRank();
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, b.axis(rank, 0));
  GRADUS_RETURN_IF_ERROR(checkElements(node, data, indices, axis));
  if (tensorType(updates).getShape() != tensorType(indices).getShape())
    return node.error("its updates have shape [",
                      joined(tensorType(updates).getShape()),
                      "], expected that of its indices, [",
                      joined(tensorType(indices).getShape()), "]");
  bool ours = reduces(node);
  if (ours) {
    GRADUS_ASSIGN_OR_RETURN(Value result,
                            reducedElements(b, data, indices, updates, axis));
    return importer.define(node, 0, result);
  }
  SmallVector<int64_t> order = axisLast(rank, axis), missing;
  SmallVector<int64_t> shape(tensorType(indices).getShape());
  for (int64_t d = 0; d < rank; ++d)
    missing.push_back(d == axis ? 0 : type.getDimSize(d) - shape[d]);
  shape[axis] = type.getDimSize(axis);
  auto ordered = [&](Value value) {
    return transpose(b.builder, b.loc, value, order);
  };
  Value last = ordered(indices);
  auto scatter = [&](Value values) {
    SmallVector<int64_t> to, zeros(rank, 0);
    for (int64_t d : order)
      to.push_back(shape[d]);
    Type element = tensorType(values).getElementType();
    Value sum = b.make<ScatterAddOp>(RankedTensorType::get(to, element),
                                     ordered(values), last, rank - 1, rank - 1);
    sum = transpose(b.builder, b.loc, sum, inverseOf(order));
    return b.make<PadOp>(type.clone(element), sum, zeros, missing, zeros,
                         APFloat(0.0));
  };
  return importer.define(node, 0, scattered(b, data, updates, scatter));
}

//===-- export ------------------------------------------------------------===//

/// Whether the batch dimensions are all but the last, along which is gathered.
bool isOfElements(int64_t axis, int64_t batch, int64_t rank, int64_t indices) {
  return axis == batch && rank == axis + 1 && indices == batch + 1;
}

/// The indices as tuples of one number, of the only type that tuples have.
std::string tuplesOf(const OpWriter &w) {
  SmallVector<int64_t> shape(w.inputType(1).getShape());
  shape.push_back(1);
  std::string tuples = w.shaped(w.input(1), w.inputType(1).getShape(), shape);
  if (w.inputType(1).getElementType().isInteger(64))
    return tuples;
  return w.node("Cast", {tuples},
                {attribute("to", int64_t(::onnx::TensorProto::INT64))});
}

/// ONNX gathers directly behind the batch dimensions; transposes move the other
/// axes out of the way (gatheredBetween in shape.cpp).
absl::Status writeGather(const OpWriter &w, const char *node) {
  auto gather = cast<GatherOp>(w.op);
  int64_t axis = gather.getAxis(), batch = gather.getBatchDims();
  if (batch == 0)
    return w.define(node, w.inputs(), {attribute("axis", axis)});
  if (isOfElements(axis, batch, w.inputType(0).getRank(),
                   w.inputType(1).getRank()))
    return w.define("GatherElements", w.inputs(), {attribute("axis", axis)});
  if (axis == batch)
    return w.define("GatherND", {w.input(0), tuplesOf(w)},
                    {attribute("batch_dims", batch)});
  SmallVector<int64_t> there =
      axesMoved(w.inputType(0).getRank(), axis, batch, 1);
  SmallVector<int64_t> back = axesMoved(w.type().getRank(), batch, axis,
                                        w.inputType(1).getRank() - batch);
  std::string first =
      w.node("Transpose", {w.input(0)}, {attribute("perm", ArrayRef(there))});
  std::string found = w.node("GatherND", {first, tuplesOf(w)},
                             {attribute("batch_dims", batch)});
  return w.define("Transpose", {found}, {attribute("perm", ArrayRef(back))});
}

absl::Status writeScatterAdd(const OpWriter &w, const char *node) {
  auto scatter = cast<ScatterAddOp>(w.op);
  int64_t axis = scatter.getAxis(), batch = scatter.getBatchDims();
  RankedTensorType type = w.type();
  std::string zeros = w.graph.constant(DenseElementsAttr::get(
      type, Builder(w.op->getContext()).getZeroAttr(type.getElementType())));
  if (isOfElements(axis, batch, type.getRank(), w.inputType(1).getRank()))
    return w.define(node, {zeros, w.input(1), w.input(0)},
                    {attribute("axis", axis), attribute("reduction", "add")});
  if (axis == 0 && batch == 0)
    return w.define("ScatterND", {zeros, tuplesOf(w), w.input(0)},
                    {attribute("reduction", "add")});
  return w.error("adds slices along axis ", axis, " with ", batch,
                 " batch dimensions, which ONNX has no node for");
}

const Operator kOperators[] = {
    {"Gather", {6, "data"}, gather},
    {"GatherElements", {11, "data"}, gatherElements},
    {"GatherND", {11, "data"}, gatherND},
    {"Scatter", {9, "data, updates"}, scatterElements},
    {"ScatterElements",
     {11, "data, updates", "`reduction` of mul, max and min on integers",
      judgeScatter},
     scatterElements},
    {"ScatterND",
     {11, "data, updates", "`reduction` of mul, max and min on integers",
      judgeScatter},
     scatterND},
};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"gradus.gather", "Gather", writeGather},
    {"gradus.scatter_add", "ScatterElements", ofNumbers<writeScatterAdd>},
};

} // namespace

llvm::ArrayRef<Operator> indexingOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> indexingExports() { return kExports; }

} // namespace gradus::onnx
