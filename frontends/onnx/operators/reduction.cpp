// ONNX reductions.

#include "frontends/onnx/importer/building.h"
#include "frontends/onnx/operators/exports.h"
#include "frontends/onnx/operators/operators.h"

#include "ir/build.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

/// The axes, from an attribute or (later) an input; all axes if none is given.
absl::StatusOr<SmallVector<int64_t>>
reducedAxes(Importer &importer, const Node &node, int64_t rank) {
  SmallVector<int64_t> axes = node.integers("axes");
  bool isNothing = node.integer("noop_with_empty_axes", 0);
  if (!node.input(1).empty()) {
    GRADUS_ASSIGN_OR_RETURN(axes, importer.integers(node, 1, "axes"));
  }
  if (axes.empty())
    return isNothing ? SmallVector<int64_t>() : allAxes(rank);
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

/// The sum divided by the count, rounded towards zero as in onnxruntime. Small
/// integers are summed in large ones.
Value meanOfIntegers(const Building &b, Value input, ArrayRef<int64_t> axes) {
  Type element = tensorType(input).getElementType();
  bool isUnsigned = b.isUnsigned();
  if (element.getIntOrFloatBitWidth() < 32)
    input = castTo(b, input, b.builder.getI64Type(), isUnsigned);
  Value total = sum(b.builder, b.loc, input, axes);
  int64_t count = tensorType(input).getNumElements() /
                  std::max<int64_t>(1, tensorType(total).getNumElements());
  Value divisor = b.number(count, total);
  total = isUnsigned ? b.make<arith::DivUIOp>(total, divisor)
                     : b.make<arith::DivSIOp>(total, divisor);
  return castTo(b, total, element);
}

Value reduced(const Building &b, Reduction kind, Value input,
              ArrayRef<int64_t> axes) {
  if (axes.empty())
    return input;
  if (kind == Reduction::mean && !Building::isFloat(input))
    return meanOfIntegers(b, input, axes);
  return reduce(b.builder, b.loc, kind, input, axes);
}

template <Reduction kind>
absl::Status reduceAlong(Importer &importer, const Node &node) {
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  Building b(importer, node);
  Type element = tensorType(input).getElementType();
  // Booleans are ordered as 0 and 1.
  bool isUnsigned = b.isUnsigned(), isBoolean = element.isInteger(1);
  bool isExtreme = kind == Reduction::max || kind == Reduction::min;
  if (isBoolean && !isExtreme)
    return node.error("is not supported on booleans");
  if (isBoolean)
    input = castTo(b, input, b.builder.getI8Type());
  input = b.ordered(input, isUnsigned && isExtreme);
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> axes,
                          reducedAxes(importer, node, shape.size()));
  Value result = reduced(b, kind, input, axes);
  result = b.ordered(result, isUnsigned && isExtreme);
  if (isBoolean) // The extremes of no elements are the limits of i8.
    result = b.make<arith::CmpIOp>(arith::CmpIPredicate::sgt, result,
                                   b.number(0, result));
  result = castTo(b, result, element);
  if (node.integer("keepdims", 1))
    result = b.shaped(result, keptShape(shape, axes));
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

//===-- export ------------------------------------------------------------===//

absl::Status writeReduce(const OpWriter &w, const char *) {
  static constexpr const char *kNodes[] = {"ReduceSum", "ReduceMax",
                                           "ReduceMin", "ReduceMean"};
  auto reduce = cast<ReduceOp>(w.op);
  GRADUS_RETURN_IF_ERROR(needNumbers(w));
  bool isExtreme =
      reduce.getKind() == Reduction::max || reduce.getKind() == Reduction::min;
  Type element = w.type().getElementType();
  bool fits = !isa<IntegerType>(element) || element.isInteger(32) ||
              element.isInteger(64) || (isExtreme && element.isInteger(8));
  if (!fits)
    return w.error("reduces integers of ", element.getIntOrFloatBitWidth(),
                   " bits, for which ONNX has no such node");
  return w.define(kNodes[int(reduce.getKind())],
                  {w.input(0), w.graph.integers(reduce.getAxes())},
                  {attribute("keepdims", int64_t(0))});
}

const Operator kOperators[] = {
    {"ReduceMean",
     {6, "data", "computed `axes`; booleans"},
     reduceAlong<Reduction::mean>},
    {"ReduceSum",
     {6, "data", "computed `axes`; booleans"},
     reduceAlong<Reduction::sum>},
    {"ReduceMax", {6, "data", "computed `axes`"}, reduceAlong<Reduction::max>},
    {"ReduceMin", {6, "data", "computed `axes`"}, reduceAlong<Reduction::min>},
    {"GlobalAveragePool", {6, "X"}, ofFloats<globalPool<Reduction::mean>>},
    {"GlobalMaxPool", {6, "X"}, ofFloats<globalPool<Reduction::max>>},
};

// Op list: the nodes that ONNX has for ops.
constexpr ExportRow kExports[] = {
    {"gradus.reduce", "ReduceSum", writeReduce},
};

} // namespace

llvm::ArrayRef<Operator> reductionOperators() { return kOperators; }

llvm::ArrayRef<ExportRow> reductionExports() { return kExports; }

} // namespace gradus::onnx
