// ONNX ops along one axis: cumulative products, crops and pads to a size,
// selection by a known mask, reversed sequences; and windows of signals.

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/operators.h"

#include <cmath>

namespace gradus::onnx {
namespace {

using namespace mlir;

//===-- cumulative products -----------------------------------------------===//

/// One step of a scan: multiplies each element by the one `distance` before it.
Value timesEarlier(const Building &b, Value value, int64_t axis,
                   int64_t distance, bool reverse) {
  ArrayRef<int64_t> shape = tensorType(value).getShape();
  int64_t size = shape[axis];
  Value earlier = b.gatherAlong(value, axis, size, [&](int64_t i) {
    return std::clamp<int64_t>(reverse ? i + distance : i - distance, 0,
                               size - 1);
  });
  Value numbers = b.indicesAlong(shape, axis);
  auto is = reverse ? arith::CmpIPredicate::slt : arith::CmpIPredicate::sge;
  Value there = b.compare(
      is, numbers, b.number(reverse ? size - distance : distance, numbers));
  return b.multiply(value, b.select(there, earlier, b.number(1, value)));
}

/// Shifts by one element and fills with ones.
Value exclusive(const Building &b, Value value, int64_t axis, bool reverse) {
  ArrayRef<int64_t> shape = tensorType(value).getShape();
  int64_t size = shape[axis];
  Value shifted = b.gatherAlong(value, axis, size, [&](int64_t i) {
    return std::clamp<int64_t>(reverse ? i + 1 : i - 1, 0, size - 1);
  });
  Value numbers = b.indicesAlong(shape, axis);
  Value edge = b.compare(arith::CmpIPredicate::eq, numbers,
                         b.number(reverse ? size - 1 : 0, numbers));
  return b.select(edge, b.number(1, value), shifted);
}

absl::Status cumulativeProduct(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value value, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> axes,
                          importer.integers(node, 1, "axis"));
  int64_t rank = tensorType(value).getRank();
  auto axis = normalAxis(axes.size() == 1 ? axes[0] : rank, rank);
  if (!axis.ok())
    return node.error(axis.status().message());
  bool reverse = node.integer("reverse", 0);
  if (node.integer("exclusive", 0))
    value = exclusive(b, value, *axis, reverse);
  for (int64_t distance = 1; distance < tensorType(value).getDimSize(*axis);
       distance *= 2)
    value = timesEarlier(b, value, *axis, distance, reverse);
  return importer.define(node, 0, value);
}

//===-- crop and pad ------------------------------------------------------===//

/// Crops the middle of an axis, or pads it with zeros on both sides.
Value cropOrPad(const Building &b, Value value, int64_t axis, int64_t wanted) {
  SmallVector<int64_t> shape(tensorType(value).getShape());
  int64_t size = shape[axis], before = std::abs(wanted - size) / 2;
  Value result = b.gatherAlong(value, axis, wanted, [&](int64_t i) {
    return std::clamp<int64_t>(wanted < size ? i + before : i - before, 0,
                               size - 1);
  });
  if (wanted <= size)
    return result;
  shape[axis] = wanted;
  Value numbers = b.indicesAlong(shape, axis);
  Value inside = b.make<arith::AndIOp>(
      b.compare(arith::CmpIPredicate::sge, numbers, b.number(before, numbers)),
      b.compare(arith::CmpIPredicate::slt, numbers,
                b.number(before + size, numbers)));
  return b.select(inside, result, b.number(0, result));
}

absl::Status centerCropPad(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value value, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> sizes,
                          importer.integers(node, 1, "shape"));
  int64_t rank = tensorType(value).getRank();
  SmallVector<int64_t> axes = node.integers("axes", allAxes(rank));
  if (axes.size() != sizes.size())
    return node.error("has ", sizes.size(), " sizes for ", axes.size(),
                      " axes");
  for (auto [given, size] : llvm::zip(axes, sizes)) {
    auto axis = normalAxis(given, rank);
    if (!axis.ok() || size < 1 || size > (1 << 28))
      return node.error("cannot make axis ", given, " ", size, " long");
    value = cropOrPad(b, value, *axis, size);
  }
  return importer.define(node, 0, value);
}

//===-- reversed sequences ------------------------------------------------===//

/// Reverses the first `length` elements of each row, with a length for each
/// row; the others stay.
absl::Status reverseSequence(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value lengths, importer.value(node, 1, 1));
  int64_t rank = tensorType(input).getRank(),
          time = node.integer("time_axis", 0),
          batch = node.integer("batch_axis", 1);
  if (rank < 2 || std::min(time, batch) != 0 || std::max(time, batch) != 1 ||
      tensorType(lengths).getDimSize(0) != tensorType(input).getDimSize(batch))
    return node.error("expected axes 0 and 1 and a length for each row, found "
                      "time_axis ",
                      time, " and batch_axis ", batch);
  SmallVector<int64_t> order = allAxes(rank);
  if (batch == 1)
    std::swap(order[0], order[1]);
  Value rows = b.permuted(input, order);
  lengths = castTo(b, lengths, b.builder.getI64Type());
  ArrayRef<int64_t> shape = tensorType(rows).getShape().take_front(2);
  Value here = b.indicesAlong(shape, 1);
  Value end = broadcast(b.builder, b.loc, lengths, shape, {0});
  Value turned = b.subtract(b.subtract(end, b.number(1, end)), here);
  Value at =
      b.select(b.compare(arith::CmpIPredicate::slt, here, end), turned, here);
  Value result =
      b.make<GatherOp>(rows.getType(), rows, at, /*axis=*/1, /*batch_dims=*/1);
  return importer.define(node, 0, b.permuted(result, order));
}

//===-- a mask ------------------------------------------------------------===//

absl::Status compress(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value value, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> mask,
                          importer.integers(node, 1, "condition"));
  int64_t axis = 0;
  if (!node.hasAttribute("axis")) {
    value = b.shaped(value, {tensorType(value).getNumElements()});
  } else {
    GRADUS_ASSIGN_OR_RETURN(axis, b.axis(tensorType(value).getRank(), 0));
  }
  SmallVector<int64_t> kept;
  for (int64_t i = 0; i < int64_t(mask.size()); ++i)
    if (mask[i])
      kept.push_back(i);
  if (kept.empty() || kept.back() >= tensorType(value).getDimSize(axis))
    return node.error("keeps ", kept.size(), " of ",
                      tensorType(value).getDimSize(axis),
                      " elements, which is not supported");
  return importer.define(node, 0, b.gatherAlong(value, axis, kept));
}

//===-- windows -----------------------------------------------------------===//

/// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n)
absl::StatusOr<Constant> window(const Node &node, Constants inputs,
                                std::array<double, 3> factors) {
  Type element = elementType(node.integer("output_datatype", 1),
                             *inputs[0]->element.getContext());
  if (inputs[0]->tensor.size() != 1 || inputs[0]->tensor.isFloat ||
      !isa_and_nonnull<FloatType>(element))
    return node.error("expected one whole number, and floats as "
                      "output_datatype; others are not supported");
  int64_t size = inputs[0]->tensor.integers[0];
  if (size < 1 || size > (1 << 24))
    return node.error("its size is ", size);
  double last = node.integer("periodic", 1) ? size : size - 1;
  Constant result = zeros(element, {size});
  for (int64_t i = 0; i < size; ++i) {
    double angle = 2 * M_PI * i / last;
    result.tensor.floats[i] = factors[0] - factors[1] * std::cos(angle) +
                              factors[2] * std::cos(2 * angle);
  }
  return result;
}

absl::StatusOr<Constant> hann(const Node &node, Constants inputs) {
  return window(node, inputs, {0.5, 0.5, 0});
}
absl::StatusOr<Constant> hamming(const Node &node, Constants inputs) {
  return window(node, inputs, {25.0 / 46, 21.0 / 46, 0});
}
absl::StatusOr<Constant> blackman(const Node &node, Constants inputs) {
  return window(node, inputs, {0.42, 0.5, 0.08});
}

const Operator kOperators[] = {
    {"CumProd", {26, "x", "computed `axis`"}, cumulativeProduct},
    {"CenterCropPad", {18, "input_data", "computed `shape`"}, centerCropPad},
    {"Compress",
     {9, "input", "computed `condition`; one that keeps nothing"},
     compress},
    {"ReverseSequence", {10, "input", "axes but 0 and 1"}, reverseSequence},
    {"HannWindow", {17, "", "integers as `output_datatype`"}, nullptr, hann},
    {"HammingWindow",
     {17, "", "integers as `output_datatype`"},
     nullptr,
     hamming},
    {"BlackmanWindow",
     {17, "", "integers as `output_datatype`"},
     nullptr,
     blackman},
};

} // namespace

llvm::ArrayRef<Operator> alongAxisOperators() { return kOperators; }

} // namespace gradus::onnx
