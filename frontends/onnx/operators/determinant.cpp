// Det: Gaussian elimination, unrolled over the rows. The pivot is the largest
// remaining element, so a divisor is 0 only if all are 0, and gradients are
// right for singular matrices, too.

#include "frontends/onnx/operators/extremes.h"
#include "frontends/onnx/operators/operators.h"

namespace gradus::onnx {
namespace {

using namespace mlir;
using FloatIs = arith::CmpFPredicate;
using IntegerIs = arith::CmpIPredicate;

/// The maximum number of rows; the graph grows with them.
constexpr int64_t kMostRows = 64;

/// The pivots' rows and columns, [count] each, of `count` matrices [count, n,
/// n].
struct Pivots {
  Value row, column;
};

Pivots pivotsOf(const Building &b, Value matrices) {
  ArrayRef<int64_t> shape = tensorType(matrices).getShape();
  int64_t count = shape[0], n = shape[1];
  Value size = b.absolute(b.shaped(matrices, {count, n * n}));
  Value place = placeOfExtreme(b, Reduction::max, size, /*axis=*/1);
  Value width = b.number(n, place);
  return {b.make<arith::DivSIOp>(place, width),
          b.make<arith::RemSIOp>(place, width)};
}

/// The slices of each matrix along an axis at indices [count, some].
Value taken(const Building &b, Value matrices, Value places, int64_t axis) {
  SmallVector<int64_t> shape(tensorType(matrices).getShape());
  shape[axis] = tensorType(places).getDimSize(1);
  return b.make<GatherOp>(tensorType(matrices).clone(shape), matrices, places,
                          axis, /*batch_dims=*/1);
}

/// The indices 0 ... n - 1 without one of them, [count, n - 1].
Value allBut(const Building &b, Value one, int64_t n) {
  SmallVector<int64_t> shape = {tensorType(one).getDimSize(0), n - 1};
  Value numbers = b.indicesAlong(shape, 1);
  Value limit = broadcast(b.builder, b.loc, one, shape, {0});
  return b.select(b.compare(IntegerIs::slt, numbers, limit), numbers,
                  b.add(numbers, b.number(1, numbers)));
}

/// 1 for an even number, -1 for an odd one.
Value signOf(const Building &b, Value number, Type element) {
  Value two = b.number(2, number);
  Value isEven = b.compare(IntegerIs::eq, b.make<arith::RemSIOp>(number, two),
                           b.number(0, number));
  RankedTensorType type = tensorType(number).clone(element);
  return b.select(isEven, splat(b.builder, b.loc, type, 1),
                  splat(b.builder, b.loc, type, -1));
}

/// One elimination: det(A) = factor det(rest), [count] and [count, n - 1, n -
/// 1].
std::pair<Value, Value> eliminated(const Building &b, Value matrices) {
  ArrayRef<int64_t> shape = tensorType(matrices).getShape();
  int64_t count = shape[0], n = shape[1];
  auto [row, column] = pivotsOf(b, matrices);
  auto single = [&](Value places) { return b.shaped(places, {count, 1}); };
  Value across = taken(b, matrices, single(row), 1);  // [count, 1, n]
  Value down = taken(b, matrices, single(column), 2); // [count, n, 1]
  Value pivot = taken(b, across, single(column), 2);  // [count, 1, 1]
  Value isZero = b.compare(FloatIs::OEQ, pivot, b.number(0, pivot));
  Value divisor = b.select(isZero, b.number(1, pivot), pivot);
  Value rows = allBut(b, row, n), columns = allBut(b, column, n);
  auto everywhere = [&](Value value) {
    return broadcastLast(b.builder, b.loc, value, {count, n - 1, n - 1});
  };
  Value ratio =
      b.divide(taken(b, down, rows, 1),
               broadcastLast(b.builder, b.loc, divisor, {count, n - 1, 1}));
  Value rest = b.subtract(
      taken(b, taken(b, matrices, rows, 1), columns, 2),
      b.multiply(everywhere(ratio), everywhere(taken(b, across, columns, 2))));
  Type element = tensorType(matrices).getElementType();
  return {b.multiply(b.shaped(pivot, {count}),
                     signOf(b, b.add(row, column), element)),
          rest};
}

/// `a d - b c`
Value ofTwoRows(const Building &b, Value matrices) {
  int64_t count = tensorType(matrices).getDimSize(0);
  Value flat = b.shaped(matrices, {count, 4});
  auto at = [&](int64_t i) {
    return b.shaped(b.cutAlong(flat, 1, i, 1), {count});
  };
  return b.subtract(b.multiply(at(0), at(3)), b.multiply(at(1), at(2)));
}

absl::Status determinant(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  RankedTensorType type = tensorType(input);
  int64_t rank = type.getRank();
  if (rank < 2 || type.getDimSize(rank - 1) != type.getDimSize(rank - 2))
    return node.error("its input has shape [", joined(type.getShape()),
                      "], expected square matrices");
  int64_t n = type.getDimSize(rank - 1);
  if (n > kMostRows)
    return node.error("its matrices have ", n, " rows; more than ", kMostRows,
                      " are not supported");
  Value matrices =
      b.shaped(castTo(b, input, computeType(type.getElementType())),
               {type.getNumElements() / (n * n), n, n});
  Value total;
  auto times = [&](Value factor) {
    total = total ? b.multiply(total, factor) : factor;
  };
  for (; n > 2; --n) {
    auto [factor, rest] = eliminated(b, matrices);
    times(factor);
    matrices = rest;
  }
  times(n == 2 ? ofTwoRows(b, matrices)
               : b.shaped(matrices, {tensorType(matrices).getDimSize(0)}));
  total = castTo(b, total, type.getElementType());
  return importer.define(node, 0,
                         b.shaped(total, type.getShape().drop_back(2)));
}

const Operator kOperators[] = {
    {"Det", {11, "X", "more than 64 rows"}, ofFloats<determinant>}};

} // namespace

llvm::ArrayRef<Operator> determinantOperators() { return kOperators; }

} // namespace gradus::onnx
