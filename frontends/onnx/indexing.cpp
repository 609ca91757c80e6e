// ONNX ops that take parts of tensors, put parts together, and read or write
// where indices say.

#include "frontends/onnx/building.h"
#include "frontends/onnx/operators.h"
#include "frontends/onnx/scatter_reduction.h"
#include "frontends/onnx/size_limits.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

RankedTensorType withShape(Value value, ArrayRef<int64_t> shape) {
  return tensorType(value).clone(shape);
}

//===-- slices ------------------------------------------------------------===//

/// Where a slice starts, how many elements it takes and in what steps.
struct Cut {
  int64_t start = 0, count, step = 1;
};

absl::StatusOr<Cut> cutOf(const Node &node, int64_t size, int64_t start,
                          int64_t end, int64_t step) {
  if (step == 0 || step == INT64_MIN)
    return node.error("its step is ", step);
  auto clamped = [&](int64_t position, int64_t low, int64_t high) {
    return std::clamp(position < 0 ? position + size : position, low, high);
  };
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? size : size - 1;
  start = clamped(start, step > 0 ? 0 : -1, high);
  end = clamped(end, low, high);
  int64_t distance = step > 0 ? end - start : start - end,
          stride = std::abs(step);
  return Cut{start, distance <= 0 ? 0 : (distance - 1) / stride + 1, step};
}

Value cut(const Building &b, Value input, ArrayRef<Cut> cuts) {
  SmallVector<int64_t> starts, steps, shape;
  for (const Cut &cut : cuts) {
    starts.push_back(cut.count ? cut.start : 0);
    steps.push_back(cut.step);
    shape.push_back(cut.count);
  }
  return b.make<SliceOp>(withShape(input, shape), input, starts, steps);
}

/// Numbers that later opsets give as an input, earlier ones as an attribute.
absl::StatusOr<SmallVector<int64_t>>
numbersOf(Importer &importer, const Node &node, int input, const char *key) {
  if (node.input(input).empty())
    return node.integers(key);
  return importer.integers(node, input, key);
}

absl::Status slice(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> from = tensorType(input).getShape();
  SmallVector<int64_t> numbers[4];
  const char *keys[] = {"starts", "ends", "axes", "steps"};
  for (int i = 0; i < 4; ++i) {
    GRADUS_ASSIGN_OR_RETURN(numbers[i],
                            numbersOf(importer, node, i + 1, keys[i]));
  }
  auto &[starts, ends, axes, steps] = numbers;
  if (axes.empty())
    axes = llvm::to_vector(llvm::seq<int64_t>(0, starts.size()));
  if (steps.empty())
    steps.assign(starts.size(), 1);
  if (starts.size() != ends.size() || starts.size() != axes.size() ||
      starts.size() != steps.size())
    return node.error("has ", starts.size(), " starts, ", ends.size(),
                      " ends, ", axes.size(), " axes and ", steps.size(),
                      " steps");
  SmallVector<Cut> cuts;
  for (int64_t extent : from)
    cuts.push_back({0, extent, 1});
  for (size_t i = 0; i < axes.size(); ++i) {
    absl::StatusOr<int64_t> axis = normalAxis(axes[i], from.size());
    if (!axis.ok())
      return node.error(axis.status().message());
    GRADUS_ASSIGN_OR_RETURN(
        cuts[*axis], cutOf(node, from[*axis], starts[i], ends[i], steps[i]));
  }
  return importer.define(node, 0, cut({importer, node}, input, cuts));
}

//===-- split, concat -----------------------------------------------------===//

/// Sizes of `count` parts as even as can be, the last the smallest.
SmallVector<int64_t> evenParts(int64_t size, int64_t count) {
  int64_t part = count ? (size + count - 1) / count : 0;
  SmallVector<int64_t> parts;
  for (int64_t i = 0; i < count; ++i)
    parts.push_back(std::clamp<int64_t>(size - i * part, 0, part));
  return parts;
}

absl::Status checkParts(const Node &node, ArrayRef<int64_t> parts,
                        int64_t size) {
  int64_t total = 0;
  bool fits = true;
  for (int64_t part : parts)
    fits &= part >= 0 && !__builtin_add_overflow(total, part, &total);
  if (fits && total == size)
    return absl::OkStatus();
  return node.error("cuts an axis of size ", size, " into parts of [",
                    joined(parts), "]");
}

absl::Status split(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, b.axis(tensorType(input).getRank(), 0));
  int64_t size = tensorType(input).getDimSize(axis);
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> parts,
                          numbersOf(importer, node, 1, "split"));
  if (parts.empty())
    parts = evenParts(size, node.outputCount());
  if (int64_t(parts.size()) != node.outputCount())
    return node.error("has ", node.outputCount(), " outputs for ", parts.size(),
                      " parts");
  GRADUS_RETURN_IF_ERROR(checkParts(node, parts, size));
  int64_t start = 0;
  for (auto [i, part] : llvm::enumerate(parts)) {
    GRADUS_RETURN_IF_ERROR(
        importer.define(node, i, b.cutAlong(input, axis, start, part)));
    start += part;
  }
  return absl::OkStatus();
}

/// The sizes of a sequence's parts: given, or of one size but the last.
absl::StatusOr<SmallVector<int64_t>>
sequenceParts(Importer &importer, const Node &node, int64_t size) {
  constexpr int64_t kMostParts = 4096;
  if (node.input(1).empty() && size <= kMostParts)
    return SmallVector<int64_t>(size, 1);
  if (node.input(1).empty())
    return node.error("makes a sequence of ", size, " parts");
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> parts,
                          importer.integers(node, 1, "split"));
  GRADUS_ASSIGN_OR_RETURN(RankedTensorType type, importer.type(node, 1));
  if (type.getRank() > 0)
    return parts;
  int64_t part = parts.front();
  if (part <= 0 || size / part > kMostParts)
    return node.error("cuts ", size, " elements into parts of size ", part);
  parts.clear();
  for (int64_t start = 0; start < size; start += part)
    parts.push_back(std::min(part, size - start));
  return parts;
}

absl::Status splitToSequence(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, b.axis(tensorType(input).getRank(), 0));
  int64_t size = tensorType(input).getDimSize(axis), start = 0;
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> parts,
                          sequenceParts(importer, node, size));
  GRADUS_RETURN_IF_ERROR(checkParts(node, parts, size));
  bool drops = node.input(1).empty() && !node.integer("keepdims", 1);
  SmallVector<Value> values;
  for (int64_t part : parts) {
    Value value = b.cutAlong(input, axis, start, part);
    SmallVector<int64_t> shape(tensorType(value).getShape());
    if (drops)
      shape.erase(shape.begin() + axis);
    values.push_back(reshape(b.builder, b.location, value, shape));
    start += part;
  }
  return importer.defineSequence(node, 0, values);
}

absl::StatusOr<Value> concatenated(const Building &b, ArrayRef<Value> parts,
                                   int64_t axis) {
  SmallVector<int64_t> shape(tensorType(parts[0]).getShape());
  shape[axis] = 0;
  for (Value part : parts) {
    RankedTensorType type = tensorType(part);
    SmallVector<int64_t> expected(shape);
    if (type.getRank() == int64_t(shape.size()))
      expected[axis] = type.getDimSize(axis);
    if (type != withShape(parts[0], expected))
      return b.node.error("its inputs do not fit together along axis ", axis);
    shape[axis] += expected[axis];
  }
  return b.make<ConcatenateOp>(withShape(parts[0], shape), parts, axis);
}

absl::Status concat(Importer &importer, const Node &node) {
  Building b(importer, node);
  SmallVector<Value> parts;
  for (int i = 0; i < node.inputCount(); ++i) {
    GRADUS_ASSIGN_OR_RETURN(parts.emplace_back(), importer.value(node, i));
  }
  if (parts.empty())
    return node.error("has no inputs");
  GRADUS_ASSIGN_OR_RETURN(int64_t axis,
                          b.axis(tensorType(parts[0]).getRank(), 1));
  Value first = parts[0];
  llvm::erase_if(parts, [&](Value part) {
    return tensorType(part).getRank() == tensorType(first).getRank() &&
           tensorType(part).getDimSize(axis) == 0;
  });
  if (parts.empty()) // All of them are empty along the axis.
    parts = {first};
  GRADUS_ASSIGN_OR_RETURN(Value result, concatenated(b, parts, axis));
  return importer.define(node, 0, result);
}

/// With new_axis the parts come to lie side by side.
absl::Status concatFromSequence(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(ArrayRef<Value> sequence, importer.sequence(node, 0));
  if (sequence.empty())
    return node.error("its sequence is empty");
  bool stacks = node.integer("new_axis", 0);
  SmallVector<Value> parts(sequence);
  GRADUS_ASSIGN_OR_RETURN(int64_t axis,
                          b.axis(tensorType(parts[0]).getRank() + stacks, 0));
  for (Value &part : parts) {
    SmallVector<int64_t> shape(tensorType(part).getShape());
    if (stacks)
      shape.insert(shape.begin() + axis, 1);
    part = reshape(b.builder, b.location, part, shape);
  }
  GRADUS_ASSIGN_OR_RETURN(Value result, concatenated(b, parts, axis));
  return importer.define(node, 0, result);
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

/// Known indices must lie inside; the error names the first that does not.
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

/// The step between known indices, if they are evenly spaced: then the gather
/// is a slice.
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
    return importer.define(node, 0, gathered(b, input, indices, axis));
  SmallVector<Cut> cuts;
  for (int64_t extent : from)
    cuts.push_back({0, extent, 1});
  cuts[axis] = *even;
  SmallVector<int64_t> shape(from.take_front(axis));
  llvm::append_range(shape, tensorType(indices).getShape());
  llvm::append_range(shape, from.drop_front(axis + 1));
  return importer.define(
      node, 0, reshape(b.builder, b.location, cut(b, input, cuts), shape));
}

/// All axes but one, then that one; and the way back.
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

/// A tensor along an axis that has come last, no longer in the other
/// dimensions than the indices.
Value alignedWith(const Building &b, Value input, Value indices, int64_t axis) {
  ArrayRef<int64_t> shape = tensorType(indices).getShape();
  for (int64_t d = 0; d < int64_t(shape.size()); ++d)
    if (d != axis)
      input = b.cutAlong(input, d, 0, shape[d]);
  return transpose(b.builder, b.location, input, axisLast(shape.size(), axis));
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
  Value last = transpose(b.builder, b.location, indices, order);
  Value taken = gathered(b, alignedWith(b, input, indices, axis), last,
                         rank - 1, rank - 1);
  return importer.define(
      node, 0, transpose(b.builder, b.location, taken, inverseOf(order)));
}

//===-- many indices at once ----------------------------------------------===//

/// The tuples along the last dimension of `indices` as row-major positions in
/// `extents`; -size (which is outside) where one of them lies outside.
Value positionsOf(const Building &b, Value indices, ArrayRef<int64_t> extents) {
  int64_t last = tensorType(indices).getRank() - 1, size = 1;
  ArrayRef<int64_t> shape = tensorType(indices).getShape().drop_back();
  for (int64_t extent : extents)
    size *= extent;
  Value position, inside;
  for (auto [i, extent] : llvm::enumerate(extents)) {
    Value index =
        reshape(b.builder, b.location, b.cutAlong(indices, last, i, 1), shape);
    Value zero = b.number(0, index), bound = b.number(extent, index);
    Value fromEnd = b.make<arith::AddIOp>(index, bound);
    Value negative = b.compare(arith::CmpIPredicate::slt, index, zero);
    index = b.make<arith::SelectOp>(negative, fromEnd, index);
    Value fits = b.compare(arith::CmpIPredicate::ult, index, bound);
    position = position ? b.make<arith::AddIOp>(
                              b.make<arith::MulIOp>(position, bound), index)
                        : index;
    inside = inside ? b.make<arith::AndIOp>(inside, fits) : fits;
  }
  Value outside = b.number(size, position);
  return b.make<arith::SelectOp>(inside, position, outside);
}

/// A tensor whose dimensions [first, first + count) are one.
Value withOne(const Building &b, Value input, int64_t first, int64_t count) {
  ArrayRef<int64_t> from = tensorType(input).getShape();
  SmallVector<int64_t> shape(from.take_front(first));
  shape.push_back(1);
  for (int64_t extent : from.slice(first, count))
    shape.back() *= extent;
  llvm::append_range(shape, from.drop_front(first + count));
  return reshape(b.builder, b.location, input, shape);
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

/// Whether a scatter combines by what only scatterReduced() does.
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

/// `data` with `updates` at the places that a scatter_add of them writes to.
Value scattered(const Building &b, Value data, Value updates,
                llvm::function_ref<Value(Value)> scatter) {
  Value added = scatter(updates);
  if (b.node.text("reduction", "none") == "add")
    return b.add(data, added);
  Type element = b.builder.getI32Type();
  Value ones =
      splat(b.builder, b.location, tensorType(updates).clone(element), 1);
  Value hits = scatter(ones);
  Value hit = b.compare(arith::CmpIPredicate::ne, hits, b.number(0, hits));
  return b.select(hit, added, data);
}

/// The sizes before, along and after an axis as one each.
SmallVector<int64_t> aroundAxis(ArrayRef<int64_t> shape, int64_t axis) {
  return {llvm::product_of(shape.take_front(axis)), shape[axis],
          llvm::product_of(shape.drop_front(axis + 1))};
}

/// `part`, with the rest of `whole` where that is longer, but along `axis`.
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
  Value at = broadcast(b.builder, b.location, b.shaped(positions, {from[1]}),
                       from, {1});
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
    return reshape(b.builder, b.location, sum, shape);
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
    return transpose(b.builder, b.location, value, order);
  };
  Value last = ordered(indices);
  auto scatter = [&](Value values) {
    SmallVector<int64_t> to, zeros(rank, 0);
    for (int64_t d : order)
      to.push_back(shape[d]);
    Type element = tensorType(values).getElementType();
    Value sum = b.make<ScatterAddOp>(RankedTensorType::get(to, element),
                                     ordered(values), last, rank - 1, rank - 1);
    sum = transpose(b.builder, b.location, sum, inverseOf(order));
    return b.make<PadOp>(type.clone(element), sum, zeros, missing, zeros,
                         APFloat(0.0));
  };
  return importer.define(node, 0, scattered(b, data, updates, scatter));
}

//===-- pad, tile ---------------------------------------------------------===//

/// The place in an axis of `size` that a position outside takes its value from.
int64_t mirrored(StringRef mode, int64_t position, int64_t size) {
  if (mode == "edge")
    return std::clamp<int64_t>(position, 0, size - 1);
  int64_t period = mode == "wrap" ? size : std::max<int64_t>(1, 2 * size - 2);
  position = (position % period + period) % period;
  return position < size ? position : period - position;
}

/// Modes that repeat elements are gathers along each axis.
absl::StatusOr<Value> padByGather(const Building &b, Value input,
                                  StringRef mode, int64_t axis, int64_t low,
                                  int64_t high) {
  int64_t size = tensorType(input).getDimSize(axis);
  if (size == 0)
    return b.node.error("pads axis ", axis,
                        " by its elements, but it has none");
  return b.gatherAlong(input, axis, low + size + high, [&](int64_t i) {
    return mirrored(mode, i - low, size);
  });
}

/// The numbers of low and of high padding for each axis; what is negative cuts.
struct Padding {
  SmallVector<int64_t> low, high;
};

absl::StatusOr<Padding> paddingOf(Importer &importer, const Node &node,
                                  int64_t rank) {
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> pads,
                          numbersOf(importer, node, 1, "pads"));
  SmallVector<int64_t> axes = allAxes(rank);
  if (!node.input(3).empty()) {
    GRADUS_ASSIGN_OR_RETURN(axes, importer.integers(node, 3, "axes"));
  }
  if (pads.size() != 2 * axes.size())
    return node.error("has ", pads.size(), " pads for ", axes.size(), " axes");
  Padding padding{SmallVector<int64_t>(rank, 0), SmallVector<int64_t>(rank, 0)};
  for (int64_t count : pads)
    if (count < -INT32_MAX || count > INT32_MAX)
      return node.error("pads by ", count);
  for (auto [i, given] : llvm::enumerate(axes)) {
    absl::StatusOr<int64_t> axis = normalAxis(given, rank);
    if (!axis.ok())
      return node.error(axis.status().message());
    padding.low[*axis] = pads[i];
    padding.high[*axis] = pads[i + axes.size()];
  }
  return padding;
}

/// Takes away what negative padding says.
absl::StatusOr<Value> cutNegative(const Building &b, Value input,
                                  Padding &padding) {
  SmallVector<Cut> cuts;
  for (auto [d, size] : llvm::enumerate(tensorType(input).getShape())) {
    int64_t start = std::max<int64_t>(0, -padding.low[d]);
    int64_t count = size - start - std::max<int64_t>(0, -padding.high[d]);
    if (count < 0)
      return b.node.error("takes away more than the ", size,
                          " elements of axis ", d);
    cuts.push_back({start, count, 1});
    padding.low[d] = std::max<int64_t>(0, padding.low[d]);
    padding.high[d] = std::max<int64_t>(0, padding.high[d]);
  }
  return cut(b, input, cuts);
}

absl::StatusOr<double> padValue(Importer &importer, const Node &node) {
  if (node.input(2).empty())
    return node.number("value", 0);
  const Constant *value = importer.constant(node, 2);
  if (!value || value->tensor.size() != 1)
    return node.error("its padding value is not known beforehand");
  return value->tensor.isFloat ? value->tensor.floats[0]
                               : double(value->tensor.integers[0]);
}

absl::Status judgePad(const Node &node) {
  std::string mode = node.text("mode", "constant");
  if (mode == "constant" || mode == "edge" || mode == "reflect" ||
      mode == "wrap")
    return absl::OkStatus();
  return node.error("mode is \"", mode, "\", which is not supported");
}

absl::Status pad(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  int64_t rank = tensorType(input).getRank();
  GRADUS_ASSIGN_OR_RETURN(Padding padding, paddingOf(importer, node, rank));
  GRADUS_ASSIGN_OR_RETURN(double value, padValue(importer, node));
  GRADUS_ASSIGN_OR_RETURN(input, cutNegative(b, input, padding));
  std::string mode = node.text("mode", "constant");
  if (mode != "constant") {
    for (int64_t d = 0; d < rank; ++d)
      if (padding.low[d] || padding.high[d]) {
        GRADUS_ASSIGN_OR_RETURN(
            input,
            padByGather(b, input, mode, d, padding.low[d], padding.high[d]));
      }
    return importer.define(node, 0, input);
  }
  SmallVector<int64_t> shape(tensorType(input).getShape()), none(rank, 0);
  for (int64_t d = 0; d < rank; ++d)
    shape[d] += padding.low[d] + padding.high[d];
  return importer.define(node, 0,
                         b.make<PadOp>(withShape(input, shape), input,
                                       padding.low, padding.high, none,
                                       APFloat(value)));
}

absl::Status tile(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> repeats,
                          importer.integers(node, 1, "repeats"));
  ArrayRef<int64_t> from = tensorType(input).getShape();
  if (repeats.size() != from.size())
    return node.error("has ", repeats.size(), " repeats for rank ",
                      from.size());
  for (int64_t times : repeats)
    if (times < 0 || times > INT32_MAX)
      return node.error("repeats an axis ", times, " times");
  SmallVector<int64_t> wide, kept, shape;
  for (auto [extent, times] : llvm::zip(from, repeats)) {
    kept.push_back(wide.size() + 1);
    wide.append({times, extent});
  }
  if (!isWithin(wide, kMostElements))
    return node.error("repeats a tensor of shape [", joined(from), "] [",
                      joined(repeats), "] times, which is too often");
  for (auto [extent, times] : llvm::zip(from, repeats))
    shape.push_back(times * extent);
  Value repeated = broadcast(b.builder, b.location, input, wide, kept);
  return importer.define(node, 0,
                         reshape(b.builder, b.location, repeated, shape));
}

const Operator kOperators[] = {
    {"Slice", {6, "data", "computed `starts`, `ends`, `axes`, `steps`"}, slice},
    {"Split", {6, "input", "computed `split`"}, split},
    {"SplitToSequence",
     {11, "input", "computed `split`"},
     splitToSequence,
     nullptr,
     false},
    {"Concat", {6, "inputs"}, concat},
    {"ConcatFromSequence", {11, "input_sequence"}, concatFromSequence},
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
    {"Pad",
     {6, "data", "computed `pads`, `constant_value`, `axes`", judgePad},
     pad},
    {"Tile", {6, "input", "computed `repeats`"}, tile},
};

} // namespace

llvm::ArrayRef<Operator> indexingOperators() { return kOperators; }

} // namespace gradus::onnx
