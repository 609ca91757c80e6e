// ONNX ops that slice tensors and join them.

#include "frontends/onnx/operators/slicing.h"
#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/operators.h"

namespace gradus::onnx {

using namespace mlir;

Value cut(const Building &b, Value input, ArrayRef<Cut> cuts) {
  SmallVector<int64_t> starts, steps, shape;
  for (const Cut &cut : cuts) {
    starts.push_back(cut.count ? cut.start : 0);
    steps.push_back(cut.step);
    shape.push_back(cut.count);
  }
  return b.make<SliceOp>(tensorType(input).clone(shape), input, starts, steps);
}

absl::StatusOr<SmallVector<int64_t>>
numbersOf(Importer &importer, const Node &node, int input, const char *key) {
  if (node.input(input).empty())
    return node.integers(key);
  return importer.integers(node, input, key);
}

namespace {

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

/// Splits a size into `count` parts as equal as possible; the last is the
/// smallest.
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

/// Refuses a number of parts other than that of the outputs.
absl::Status checkOutputCount(const Node &node) {
  int64_t outputs = node.outputCount(),
          found = node.integer("num_outputs", outputs);
  return found == outputs ? absl::OkStatus()
                          : node.error("num_outputs is ", found,
                                       ", but it has ", outputs, " outputs");
}

absl::Status split(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, b.axis(tensorType(input).getRank(), 0));
  int64_t size = tensorType(input).getDimSize(axis);
  GRADUS_RETURN_IF_ERROR(checkOutputCount(node));
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

/// The sizes of a sequence's parts: given, or equal except for the last.
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
  bool drops = !node.integer("keepdims", 1) && node.input(1).empty();
  SmallVector<Value> values;
  for (int64_t part : parts) {
    Value value = b.cutAlong(input, axis, start, part);
    SmallVector<int64_t> shape(tensorType(value).getShape());
    if (drops)
      shape.erase(shape.begin() + axis);
    values.push_back(reshape(b.builder, b.loc, value, shape));
    start += part;
  }
  return importer.defineSequence(node, 0, values);
}

absl::Status misfit(const Node &node, int64_t axis) {
  return node.error("its inputs do not fit together along axis ", axis);
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
    if (type != tensorType(parts[0]).clone(expected))
      return misfit(b.node, axis);
    shape[axis] += expected[axis];
  }
  return b.make<ConcatenateOp>(tensorType(parts[0]).clone(shape), parts, axis);
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
  for (Value part : parts)
    if (tensorType(part).getRank() != tensorType(first).getRank())
      return misfit(node, axis);
  llvm::erase_if(parts, [&](Value part) {
    return tensorType(part).getDimSize(axis) == 0;
  });
  if (parts.empty()) // All are empty along the axis.
    parts = {first};
  GRADUS_ASSIGN_OR_RETURN(Value result, concatenated(b, parts, axis));
  return importer.define(node, 0, result);
}

/// new_axis stacks the parts along a new axis.
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
    part = reshape(b.builder, b.loc, part, shape);
  }
  GRADUS_ASSIGN_OR_RETURN(Value result, concatenated(b, parts, axis));
  return importer.define(node, 0, result);
}

//===-- export ------------------------------------------------------------===//

/// Only the axes that are cut are named.
absl::Status writeSlice(const OpWriter &w, const char *node) {
  auto slice = cast<SliceOp>(w.op);
  SmallVector<int64_t> starts, ends, axes, steps;
  for (int64_t d = 0; d < w.type().getRank(); ++d) {
    int64_t start = slice.getStarts()[d], step = slice.getSteps()[d],
            count = w.type().getDimSize(d);
    if (start == 0 && step == 1 && count == w.inputType(0).getDimSize(d))
      continue;
    int64_t end = start + count * step;
    starts.push_back(start);
    ends.push_back(end < 0 ? INT64_MIN : end); // -1 is the last element
    axes.push_back(d);
    steps.push_back(step);
  }
  GraphWriter &graph = w.graph;
  return w.define(node,
                  {w.input(0), graph.integers(starts), graph.integers(ends),
                   graph.integers(axes), graph.integers(steps)});
}

absl::Status writeConcatenate(const OpWriter &w, const char *node) {
  int64_t axis = cast<ConcatenateOp>(w.op).getAxis();
  return w.define(node, w.inputs(), {attribute("axis", axis)});
}

const Operator kOperators[] = {
    {"Slice", {6, "data", "computed `starts`, `ends`, `axes`, `steps`"}, slice},
    {"Split",
     {6, "input", "computed `split`; `num_outputs` but that of outputs"},
     split},
    {"SplitToSequence",
     {11, "input", "computed `split`"},
     splitToSequence,
     nullptr,
     false},
    {"Concat", {6, "inputs"}, concat},
    {"ConcatFromSequence", {11, "input_sequence"}, concatFromSequence},
};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"gradus.slice", "Slice", writeSlice},
    {"gradus.concatenate", "Concat", writeConcatenate},
};

} // namespace

llvm::ArrayRef<Operator> slicingOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> slicingExports() { return kExports; }

} // namespace gradus::onnx
