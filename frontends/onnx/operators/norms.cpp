// Norms and products along axes, and ops that scale by norms.

#include "frontends/onnx/operators/norms.h"
#include "frontends/onnx/operators/operators.h"

namespace gradus::onnx {
namespace {

using namespace mlir;

/// The axes, from an attribute or (later) an input; without any, all axes, or
/// none if the node says noop.
absl::StatusOr<SmallVector<int64_t>> axesOf(const Building &b, int64_t rank) {
  SmallVector<int64_t> axes = b.node.integers("axes");
  bool isNothing = b.node.integer("noop_with_empty_axes", 0);
  if (!b.node.input(1).empty()) {
    GRADUS_ASSIGN_OR_RETURN(axes, b.importer.integers(b.node, 1, "axes"));
  }
  if (axes.empty())
    return isNothing ? SmallVector<int64_t>() : allAxes(rank);
  absl::StatusOr<SmallVector<int64_t>> normal = normalAxes(axes, rank);
  return normal.ok() ? normal : b.node.error(normal.status().message());
}

Value absolute(const Building &b, Value x) {
  if (b.isUnsigned())
    return x;
  return Building::isFloat(x) ? b.absolute(x) : b.make<math::AbsIOp>(x);
}

Value total(const Building &b, Value x, ArrayRef<int64_t> axes) {
  return axes.empty() ? x : sum(b.builder, b.loc, x, axes);
}

/// A function of reals; integers go through f64.
template <typename Op> Value asReal(const Building &b, Value x) {
  Type element = tensorType(x).getElementType();
  if (Building::isFloat(x))
    return b.make<Op>(x);
  bool isUnsigned = b.isUnsigned();
  Value real = castTo(b, x, b.builder.getF64Type(), isUnsigned);
  return castTo(b, b.make<Op>(real), element, false, isUnsigned);
}

Value sumOfSquares(const Building &b, Value x, ArrayRef<int64_t> axes) {
  return total(b, b.multiply(x, x), axes);
}

Value absoluteSum(const Building &b, Value x, ArrayRef<int64_t> axes) {
  return total(b, absolute(b, x), axes);
}

/// The square root of 0 is selected, not computed, so that its slope there is
/// 0.
Value euclidean(const Building &b, Value x, ArrayRef<int64_t> axes) {
  if (axes.empty())
    return absolute(b, x);
  Value squares = sumOfSquares(b, x, axes);
  if (!Building::isFloat(x))
    return asReal<math::SqrtOp>(b, squares);
  Value zero = b.number(0, squares);
  Value none = b.compare(arith::CmpFPredicate::OEQ, squares, zero);
  Value safe = b.select(none, b.number(1, squares), squares);
  return b.select(none, zero, b.squareRoot(safe));
}

/// The p-th root of 0 is selected as well.
Value powerNorm(const Building &b, Value x, ArrayRef<int64_t> axes, double p) {
  Value size = b.absolute(x);
  Value powers = total(b, b.power(size, b.number(p, size)), axes);
  Value zero = b.number(0, powers);
  Value none = b.compare(arith::CmpFPredicate::OEQ, powers, zero);
  Value safe = b.select(none, b.number(1, powers), powers);
  Value root = b.power(safe, b.number(1 / p, safe));
  return b.select(none, zero, root);
}

Value logOfSum(const Building &b, Value x, ArrayRef<int64_t> axes) {
  return asReal<math::LogOp>(b, total(b, x, axes));
}

/// max + log sum exp(x - max); an infinite maximum is not subtracted.
Value logOfExponentials(const Building &b, Value x, ArrayRef<int64_t> axes) {
  if (axes.empty())
    return x;
  Type element = tensorType(x).getElementType();
  if (!Building::isFloat(x))
    x = castTo(b, x, b.builder.getF64Type(), b.isUnsigned());
  Value largest = reduce(b.builder, b.loc, Reduction::max, x, axes);
  Value finite = b.make<math::IsFiniteOp>(largest);
  Value base = b.select(finite, largest, b.number(0, largest));
  Value shifted = b.subtract(x, broadcastAlong(b.builder, b.loc, base,
                                               tensorType(x).getShape(), axes));
  Value log = b.logarithm(total(b, b.exponential(shifted), axes));
  return castTo(b, b.add(base, log), element, false, b.isUnsigned());
}

} // namespace

/// Multiplies even elements by odd ones until one is left; pads with ones to a
/// power of 2.
Value productAlong(const Building &b, Value x, int64_t axis) {
  SmallVector<int64_t> shape(tensorType(x).getShape()), none(shape.size(), 0);
  SmallVector<int64_t> high(none), starts(none), steps(shape.size(), 1);
  high[axis] = int64_t(llvm::PowerOf2Ceil(std::max<int64_t>(shape[axis], 1))) -
               shape[axis];
  shape[axis] += high[axis];
  x = b.make<PadOp>(tensorType(x).clone(shape), x, none, high, none,
                    APFloat(1.0));
  steps[axis] = 2;
  while (shape[axis] > 1) {
    shape[axis] /= 2;
    auto every = [&](int64_t start) {
      starts[axis] = start;
      return b.make<SliceOp>(tensorType(x).clone(shape), x, starts, steps);
    };
    Value even = every(0);
    x = b.multiply(even, every(1));
  }
  shape.erase(shape.begin() + axis);
  return b.shaped(x, shape);
}

namespace {

Value productOf(const Building &b, Value x, ArrayRef<int64_t> axes) {
  for (int64_t axis : llvm::reverse(axes))
    x = productAlong(b, x, axis);
  return x;
}

template <Value (*combine)(const Building &, Value, ArrayRef<int64_t>)>
absl::Status reduction(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  SmallVector<int64_t> kept(tensorType(input).getShape());
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> axes, axesOf(b, kept.size()));
  // Without axes, each element is its own sum.
  Value result = combine(b, input, axes);
  for (int64_t axis : axes)
    kept[axis] = 1;
  if (node.integer("keepdims", 1))
    result = b.shaped(result, kept);
  return importer.define(node, 0, result);
}

/// The norm of each channel of each image.
absl::Status globalLpPool(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value x, importer.value(node, 0));
  SmallVector<int64_t> shape(tensorType(x).getShape());
  double p = node.opset() < 2 ? node.number("p", 2) : node.integer("p", 2);
  if (shape.size() < 3 || !Building::isFloat(x) || !(p > 0))
    return node.error("expected floats [N, C, ...] of rank 3 or more and a p "
                      "above 0, found rank ",
                      shape.size(), " and p ", p);
  SmallVector<int64_t> axes = axesExcept(shape.size(), {0, 1});
  Value norm = p == 1   ? absoluteSum(b, x, axes)
               : p == 2 ? euclidean(b, x, axes)
                        : powerNorm(b, x, axes, p);
  for (int64_t axis : axes)
    shape[axis] = 1;
  return importer.define(node, 0, b.shaped(norm, shape));
}

/// x / norm along an axis; 0 if the norm is 0.
absl::Status lpNormalization(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value x, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(x).getShape();
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, b.axis(shape.size(), -1));
  int64_t p = node.integer("p", 2);
  if ((p != 1 && p != 2) || !Building::isFloat(x))
    return node.error("takes the norm of order ", p, ", expected 1 or 2");
  Value norm = p == 1 ? absoluteSum(b, x, axis) : euclidean(b, x, axis);
  norm = broadcastAlong(b.builder, b.loc, norm, shape, axis);
  Value zero = b.number(0, x);
  Value none = b.compare(arith::CmpFPredicate::OEQ, norm, zero);
  Value safe = b.select(none, b.number(1, norm), norm);
  return importer.define(node, 0, b.select(none, zero, b.divide(x, safe)));
}

const Operator kOperators[] = {
    {"ReduceL1", {6, "data", "computed `axes`"}, reduction<absoluteSum>},
    {"ReduceL2", {6, "data", "computed `axes`"}, reduction<euclidean>},
    {"ReduceSumSquare",
     {6, "data", "computed `axes`"},
     reduction<sumOfSquares>},
    {"ReduceLogSum", {6, "data", "computed `axes`"}, reduction<logOfSum>},
    {"ReduceLogSumExp",
     {6, "data", "computed `axes`"},
     reduction<logOfExponentials>},
    {"ReduceProd", {6, "data", "computed `axes`"}, reduction<productOf>},
    {"GlobalLpPool", {6, "X"}, globalLpPool},
    {"LpNormalization", {6, "input"}, lpNormalization},
};

} // namespace

llvm::ArrayRef<Operator> normOperators() { return kOperators; }

} // namespace gradus::onnx
