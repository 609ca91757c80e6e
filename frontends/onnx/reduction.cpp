// ONNX ops that combine values along axes.

#include "frontends/onnx/fold.h"
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
  if (tensorType(input).getElementType().isInteger(1))
    return node.error("is not supported on booleans");
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> axes,
                          reducedAxes(importer, node, shape.size()));
  Location location = importer.location(node);
  Value result = axes.empty()
                     ? input
                     : reduce(importer.builder, location, kind, input, axes);
  if (node.integer("keepdims", 1))
    result =
        reshape(importer.builder, location, result, keptShape(shape, axes));
  return importer.define(node, 0, result);
}

absl::Status globalAveragePool(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  if (shape.size() < 3)
    return node.error("its input has rank ", shape.size(),
                      ", expected at least 3");
  SmallVector<int64_t> axes = axesExcept(shape.size(), {0, 1});
  Location location = importer.location(node);
  Value average = mean(importer.builder, location, input, axes);
  return importer.define(
      node, 0,
      reshape(importer.builder, location, average, keptShape(shape, axes)));
}

/// exp(x - max x) / sum of the same, along one axis.
absl::Status softmax(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  int64_t rank = shape.size();
  absl::StatusOr<int64_t> axis =
      normalAxis(node.integer("axis", node.opset() < 13 ? 1 : -1), rank);
  if (!axis.ok())
    return node.error(axis.status().message());
  if (node.opset() < 13 && *axis != rank - 1)
    return node.error("softmax over axes ", *axis, " to ", rank - 1,
                      " at once (before opset 13) is not supported; export "
                      "with a newer opset");
  OpBuilder &builder = importer.builder;
  Location location = importer.location(node);
  auto along = [&](Value value) {
    return broadcastAlong(builder, location, value, shape, {*axis});
  };
  Value largest =
      along(reduce(builder, location, Reduction::max, input, {*axis}));
  Value shifted = arith::SubFOp::create(builder, location, input, largest);
  Value exponential = math::ExpOp::create(builder, location, shifted);
  Value total = along(sum(builder, location, exponential, {*axis}));
  return importer.define(
      node, 0, arith::DivFOp::create(builder, location, exponential, total));
}

const Operator kOperators[] = {
    {"ReduceMean", reduceAlong<Reduction::mean>},
    {"ReduceSum", reduceAlong<Reduction::sum>},
    {"ReduceMax", reduceAlong<Reduction::max>},
    {"ReduceMin", reduceAlong<Reduction::min>},
    {"GlobalAveragePool", globalAveragePool},
    {"Softmax", softmax},
};

} // namespace

llvm::ArrayRef<Operator> reductionOperators() { return kOperators; }

} // namespace gradus::onnx
