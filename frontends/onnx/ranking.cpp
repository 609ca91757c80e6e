// ONNX ops about the order of elements along an axis: the largest, sums so far,
// triangles, one-hot rows.

#include "frontends/onnx/building.h"
#include "frontends/onnx/operators.h"

namespace gradus::onnx {
namespace {

using namespace mlir;
using IntegerIs = arith::CmpIPredicate;
using FloatIs = arith::CmpFPredicate;

Value along(const Building &b, Value value, ArrayRef<int64_t> shape,
            int64_t axis) {
  return broadcastAlong(b.builder, b.location, value, shape, axis);
}

SmallVector<int64_t> inserted(ArrayRef<int64_t> shape, int64_t axis,
                              int64_t extent) {
  SmallVector<int64_t> result(shape);
  result.insert(result.begin() + axis, extent);
  return result;
}

//===-- the largest -------------------------------------------------------===//

/// The first index (or the last) at which the extreme stands.
template <Reduction kind>
absl::Status argExtreme(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  input = b.ordered(input, b.isUnsigned());
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, b.axis(shape.size(), 0));
  Value extreme =
      along(b, reduce(b.builder, b.location, kind, input, {axis}), shape, axis);
  Value wins = Building::isFloat(input)
                   ? b.make<arith::CmpFOp>(FloatIs::OEQ, input, extreme)
                   : b.compare(IntegerIs::eq, input, extreme);
  bool last = node.integer("select_last_index", 0);
  Value numbers = b.indicesAlong(shape, axis);
  Value loser = b.number(last ? -1 : shape[axis], numbers);
  Value found =
      reduce(b.builder, b.location, last ? Reduction::max : Reduction::min,
             b.select(wins, numbers, loser), {axis});
  SmallVector<int64_t> result(shape);
  result[axis] = 1;
  if (node.integer("keepdims", 1))
    found = b.shaped(found, result);
  return importer.define(node, 0, found);
}

/// How many elements of its row come before each element, in order of size and
/// of place.
Value rankOf(const Building &b, Value input, int64_t axis, bool largest) {
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  // Element i against all j, which lie along a new last axis.
  SmallVector<int64_t> pairs(shape), own = allAxes(shape.size());
  pairs.push_back(shape[axis]);
  SmallVector<int64_t> others = own;
  SmallVector<int64_t> order = axesExcept(shape.size(), axis);
  order.push_back(axis);
  Value element = broadcast(b.builder, b.location, input, pairs, own);
  SmallVector<int64_t> where = axesExcept(shape.size(), axis);
  where.push_back(shape.size());
  Value other =
      broadcast(b.builder, b.location, b.permuted(input, order), pairs, where);
  auto is = [&](FloatIs real, IntegerIs whole) {
    return Building::isFloat(input)
               ? b.make<arith::CmpFOp>(real, other, element)
               : b.compare(whole, other, element);
  };
  Value beats = largest ? is(FloatIs::OGT, IntegerIs::sgt)
                        : is(FloatIs::OLT, IntegerIs::slt);
  Value earlier = b.compare(IntegerIs::slt, b.indicesAlong(pairs, shape.size()),
                            b.indicesAlong(pairs, axis));
  Value tied = b.make<arith::AndIOp>(is(FloatIs::OEQ, IntegerIs::eq), earlier);
  Value before =
      castTo(b, b.make<arith::OrIOp>(beats, tied), b.builder.getI64Type());
  return sum(b.builder, b.location, before, {int64_t(shape.size())});
}

/// The k first of each row: each element has its rank, and goes there.
absl::Status topK(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, b.axis(shape.size(), -1));
  SmallVector<int64_t> count = {node.integer("k", 1)};
  if (!node.input(1).empty()) {
    GRADUS_ASSIGN_OR_RETURN(count, importer.integers(node, 1, "k"));
  }
  if (count.size() != 1 || count[0] < 0 || count[0] > shape[axis])
    return node.error("asks for the first [", joined(count), "] of ",
                      shape[axis]);
  Value rank = rankOf(b, b.ordered(input, b.isUnsigned()), axis,
                      node.integer("largest", 1));
  SmallVector<int64_t> pairs = inserted(shape, axis, count[0]);
  auto spread = [&](Value value) {
    return broadcastAlong(b.builder, b.location, value, pairs, {axis});
  };
  Value here =
      b.compare(IntegerIs::eq, spread(rank), b.indicesAlong(pairs, axis));
  auto pick = [&](Value value) {
    Value all = spread(value);
    return sum(b.builder, b.location, b.select(here, all, b.number(0, all)),
               {axis + 1});
  };
  GRADUS_RETURN_IF_ERROR(importer.define(node, 0, pick(input)));
  return importer.define(node, 1, pick(b.indicesAlong(shape, axis)));
}

//===-- sums and products -------------------------------------------------===//

/// The sum of all elements up to each (without itself if exclusive).
absl::Status cumulativeSum(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> given,
                          importer.integers(node, 1, "axis"));
  absl::StatusOr<int64_t> axis =
      normalAxis(given.size() == 1 ? given[0] : INT64_MAX, shape.size());
  if (!axis.ok())
    return node.error(axis.status().message());
  SmallVector<int64_t> pairs = inserted(shape, *axis, shape[*axis]);
  Value terms = broadcastAlong(b.builder, b.location, input, pairs, {*axis});
  Value result = b.indicesAlong(pairs, *axis),
        term = b.indicesAlong(pairs, *axis + 1);
  if (node.integer("reverse", 0))
    std::swap(result, term);
  bool exclusive = node.integer("exclusive", 0);
  Value counts =
      b.compare(exclusive ? IntegerIs::slt : IntegerIs::sle, term, result);
  Value kept = b.select(counts, terms, b.number(0, terms));
  return importer.define(node, 0,
                         sum(b.builder, b.location, kept, {*axis + 1}));
}

//===-- triangles, one-hot ------------------------------------------------===//

absl::Status triangle(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  if (shape.size() < 2)
    return node.error("its input has rank ", shape.size(),
                      ", expected at least 2");
  SmallVector<int64_t> diagonal = {0};
  if (!node.input(1).empty()) {
    GRADUS_ASSIGN_OR_RETURN(diagonal, importer.integers(node, 1, "k"));
  }
  Value row = b.indicesAlong(shape, shape.size() - 2);
  Value column = b.indicesAlong(shape, shape.size() - 1);
  Value limit = b.add(row, b.number(diagonal.front(), row));
  Value kept =
      b.compare(node.integer("upper", 1) ? IntegerIs::sge : IntegerIs::sle,
                column, limit);
  return importer.define(node, 0, b.select(kept, input, b.number(0, input)));
}

absl::Status oneHot(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value at, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(Value values, importer.value(node, 2, 1));
  const Constant *depth = importer.constant(node, 1);
  if (!depth || depth->tensor.size() != 1)
    return node.error("its depth is not known beforehand");
  int64_t classes = depth->tensor.isFloat ? int64_t(depth->tensor.floats[0])
                                          : depth->tensor.integers[0];
  if (classes < 1 || classes > INT32_MAX)
    return node.error("its depth is ", classes);
  ArrayRef<int64_t> shape = tensorType(at).getShape();
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, b.axis(shape.size() + 1, -1));
  SmallVector<int64_t> result = inserted(shape, axis, classes);
  at = castTo(b, at, b.builder.getI64Type(), b.isUnsigned());
  Value fromEnd = b.add(at, b.number(classes, at));
  at = b.select(b.compare(IntegerIs::slt, at, b.number(0, at)), fromEnd, at);
  Value hot = b.compare(IntegerIs::eq, along(b, at, result, axis),
                        b.indicesAlong(result, axis));
  auto value = [&](int64_t which) {
    RankedTensorType one = tensorType(values).clone(ArrayRef<int64_t>{1});
    Value taken = b.make<SliceOp>(one, values, ArrayRef<int64_t>{which},
                                  ArrayRef<int64_t>{1});
    return broadcastLast(b.builder, b.location, taken, result);
  };
  GRADUS_RETURN_IF_ERROR(
      importer.define(node, 0, b.select(hot, value(1), value(0))));
  importer.setUnsigned(node, 0, b.isUnsigned(2));
  return absl::OkStatus();
}

const Operator kOperators[] = {
    {"ArgMax", {6}, argExtreme<Reduction::max>},
    {"ArgMin", {6}, argExtreme<Reduction::min>},
    {"TopK", {6, "X", "computed `K`"}, topK},
    {"CumSum", {11, "x", "computed `axis`"}, cumulativeSum},
    {"Trilu", {14, "input", "computed `k`"}, triangle},
    {"OneHot", {9, "", "computed `depth`"}, oneHot},
};

} // namespace

llvm::ArrayRef<Operator> rankingOperators() { return kOperators; }

} // namespace gradus::onnx
