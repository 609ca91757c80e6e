// ONNX ops that pad a tensor, or repeat it.

#include "frontends/onnx/file/size_limits.h"
#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/operators.h"
#include "frontends/onnx/operators/slicing.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

/// The index in an axis of `size` whose value a position outside gets.
int64_t mirrored(StringRef mode, int64_t position, int64_t size) {
  if (mode == "edge")
    return std::clamp<int64_t>(position, 0, size - 1);
  int64_t period = mode == "wrap" ? size : std::max<int64_t>(1, 2 * size - 2);
  position = (position % period + period) % period;
  return position < size ? position : period - position;
}

/// Pads an axis by gathering repeated elements.
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

/// The padding before and after each axis; negative numbers crop.
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

/// Crops by negative padding.
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
                         b.make<PadOp>(tensorType(input).clone(shape), input,
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
  Value repeated = broadcast(b.builder, b.loc, input, wide, kept);
  return importer.define(node, 0, reshape(b.builder, b.loc, repeated, shape));
}

//===-- export ------------------------------------------------------------===//

absl::Status writePad(const OpWriter &w, const char *node) {
  auto pad = cast<PadOp>(w.op);
  if (llvm::any_of(pad.getInterior(), [](int64_t count) { return count != 0; }))
    return w.error("pads between the elements, which ONNX has no node for");
  SmallVector<int64_t> pads(pad.getLow());
  llvm::append_range(pads, pad.getHigh());
  return w.define(node, {w.input(0), w.graph.integers(pads),
                         w.number(pad.getValue().convertToDouble())});
}

const Operator kOperators[] = {
    {"Pad",
     {6, "data", "computed `pads`, `constant_value`, `axes`", judgePad},
     pad},
    {"Tile", {6, "input", "computed `repeats`"}, tile},
};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"gradus.pad", "Pad", writePad},
};

} // namespace

llvm::ArrayRef<Operator> paddingOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> paddingExports() { return kExports; }

} // namespace gradus::onnx
