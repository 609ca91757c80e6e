// ONNX ops that combine values along axes.

#include "frontends/onnx/building.h"
#include "frontends/onnx/operators.h"

#include "ir/build.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

/// The axes, from an attribute or (later) an input; none given means all.
absl::StatusOr<SmallVector<int64_t>>
reducedAxes(Importer &importer, const Node &node, int64_t rank) {
  SmallVector<int64_t> axes = node.integers("axes");
  if (!node.input(1).empty()) {
    GRADUS_ASSIGN_OR_RETURN(axes, importer.integers(node, 1, "axes"));
  }
  if (axes.empty())
    return node.integer("noop_with_empty_axes", 0) ? SmallVector<int64_t>()
                                                   : allAxes(rank);
  absl::StatusOr<SmallVector<int64_t>> normal = normalAxes(axes, rank);
  if (!normal.ok())
    return node.error(normal.status().message());
  return normal;
}

/// The shape with the reduced axes kept at size one.
SmallVector<int64_t> keptShape(ArrayRef<int64_t> shape,
                               ArrayRef<int64_t> axes) {
  SmallVector<int64_t> result(shape);
  for (int64_t axis : axes)
    result[axis] = 1;
  return result;
}

template <Reduction kind>
absl::Status reduceAlong(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  Building b(importer, node);
  Type element = tensorType(input).getElementType();
  // Truth is ordered as 0 and 1.
  bool isUnsigned = b.isUnsigned(), isBoolean = element.isInteger(1);
  bool isExtreme = kind == Reduction::max || kind == Reduction::min;
  if ((isBoolean || (isUnsigned && kind == Reduction::mean)) && !isExtreme)
    return node.error("is not supported on ",
                      isBoolean ? "booleans" : "unsigned integers");
  if (isBoolean)
    input = castTo(b, input, b.builder.getI8Type());
  input = b.ordered(input, isUnsigned && isExtreme);
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> axes,
                          reducedAxes(importer, node, shape.size()));
  Location location = importer.location(node);
  Value result = axes.empty()
                     ? input
                     : reduce(importer.builder, location, kind, input, axes);
  result = castTo(b, b.ordered(result, isUnsigned && isExtreme), element);
  if (node.integer("keepdims", 1))
    result =
        reshape(importer.builder, location, result, keptShape(shape, axes));
  return importer.define(node, 0, result);
}

template <Reduction kind>
absl::Status globalPool(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  if (shape.size() < 3)
    return node.error("its input has rank ", shape.size(),
                      ", expected at least 3");
  SmallVector<int64_t> axes = axesExcept(shape.size(), {0, 1});
  Location location = importer.location(node);
  Value pooled = reduce(importer.builder, location, kind, input, axes);
  return importer.define(
      node, 0,
      reshape(importer.builder, location, pooled, keptShape(shape, axes)));
}

const Operator kOperators[] = {
    {"ReduceMean",
     {6, "data", "computed `axes`; booleans and unsigned integers"},
     reduceAlong<Reduction::mean>},
    {"ReduceSum",
     {6, "data", "computed `axes`; booleans"},
     reduceAlong<Reduction::sum>},
    {"ReduceMax", {6, "data", "computed `axes`"}, reduceAlong<Reduction::max>},
    {"ReduceMin", {6, "data", "computed `axes`"}, reduceAlong<Reduction::min>},
    {"GlobalAveragePool", {6, "X"}, globalPool<Reduction::mean>},
    {"GlobalMaxPool", {6, "X"}, globalPool<Reduction::max>},
};

} // namespace

llvm::ArrayRef<Operator> reductionOperators() { return kOperators; }

} // namespace gradus::onnx
