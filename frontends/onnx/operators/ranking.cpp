// ONNX ops on the order of elements along an axis: maxima, cumulative sums,
// triangles, one-hot rows.

#include "frontends/onnx/operators/extremes.h"
#include "frontends/onnx/operators/operators.h"
#include "frontends/onnx/operators/sorted_places.h"

#include <cmath>
#include <limits>

namespace gradus::onnx {
namespace {

using namespace mlir;
using IntegerIs = arith::CmpIPredicate;
using FloatIs = arith::CmpFPredicate;

Value along(const Building &b, Value value, ArrayRef<int64_t> shape,
            int64_t axis) {
  return broadcastAlong(b.builder, b.loc, value, shape, axis);
}

SmallVector<int64_t> inserted(ArrayRef<int64_t> shape, int64_t axis,
                              int64_t extent) {
  SmallVector<int64_t> result(shape);
  result.insert(result.begin() + axis, extent);
  return result;
}

//===-- maxima and top k --------------------------------------------------===//

/// The first (or last) index of the maximum or minimum.
template <Reduction kind>
absl::Status argExtreme(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  GRADUS_ASSIGN_OR_RETURN(int64_t axis, b.axis(shape.size(), 0));
  Value found = placeOfExtreme(b, kind, b.ordered(input, b.isUnsigned()), axis,
                               node.integer("select_last_index", 0));
  SmallVector<int64_t> result(shape);
  result[axis] = 1;
  if (node.integer("keepdims", 1))
    found = b.shaped(found, result);
  return importer.define(node, 0, found);
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The comparison key of elements: NaN counts as infinity, so that each row has
/// an order.
Value keyOf(const Building &b, Value input) {
  if (!Building::isFloat(input))
    return input;
  Value isNan = b.make<math::IsNaNOp>(input);
  return b.select(isNan, b.number(kInfinity, input), input);
}

/// The number of elements of the row that come before each element, by value
/// and then by index.
Value rankOf(const Building &b, Value input, int64_t axis, bool largest) {
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  // Compares element i with all j, which lie along a new last axis.
  SmallVector<int64_t> pairs(shape), own = allAxes(shape.size());
  pairs.push_back(shape[axis]);
  SmallVector<int64_t> others = own;
  SmallVector<int64_t> order = axesExcept(shape.size(), axis);
  order.push_back(axis);
  Value element = broadcast(b.builder, b.loc, input, pairs, own);
  SmallVector<int64_t> where = axesExcept(shape.size(), axis);
  where.push_back(shape.size());
  Value other =
      broadcast(b.builder, b.loc, b.permuted(input, order), pairs, where);
  auto is = [&](FloatIs real, IntegerIs whole) {
    return Building::isFloat(input) ? b.compare(real, other, element)
                                    : b.compare(whole, other, element);
  };
  Value beats = largest ? is(FloatIs::OGT, IntegerIs::sgt)
                        : is(FloatIs::OLT, IntegerIs::slt);
  Value earlier = b.compare(IntegerIs::slt, b.indicesAlong(pairs, shape.size()),
                            b.indicesAlong(pairs, axis));
  Value tied = b.make<arith::AndIOp>(is(FloatIs::OEQ, IntegerIs::eq), earlier);
  Value before =
      castTo(b, b.make<arith::OrIOp>(beats, tied), b.builder.getI64Type());
  return sum(b.builder, b.loc, before, {int64_t(shape.size())});
}

/// The indices of the first `count` elements of each row, [.., count, ..]:
/// those with rank 0, 1, ...
Value placesByRank(const Building &b, Value input, int64_t axis, bool largest,
                   int64_t count) {
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  SmallVector<int64_t> pairs = inserted(shape, axis, count);
  auto spread = [&](Value value) {
    return broadcastAlong(b.builder, b.loc, value, pairs, {axis});
  };
  Value here = b.compare(IntegerIs::eq, spread(rankOf(b, input, axis, largest)),
                         b.indicesAlong(pairs, axis));
  Value numbers = b.indicesAlong(pairs, axis + 1);
  return sum(b.builder, b.loc, b.select(here, numbers, b.number(0, numbers)),
             {axis + 1});
}

/// Numbers in the opposite order.
Value reversed(const Building &b, Value input) {
  return Building::isFloat(input)
             ? b.negate(input)
             : b.make<arith::XOrIOp>(input, b.number(-1, input));
}

/// A lower bound of all numbers of the type.
double lowest(Value like) {
  Type element = tensorType(like).getElementType();
  return isa<FloatType>(element)
             ? -kInfinity
             : -std::ldexp(1.0, element.getIntOrFloatBitWidth() - 1);
}

/// Computes placesByRank by repeated maxima: each index is the first of the
/// maximum among the elements after the previous one.
Value placesInTurn(const Building &b, Value input, int64_t axis, bool largest,
                   int64_t count) {
  SmallVector<int64_t> shape(tensorType(input).getShape());
  input = largest ? input : reversed(b, input);
  auto is = [&](FloatIs real, IntegerIs whole, Value other) {
    return Building::isFloat(input) ? b.compare(real, input, other)
                                    : b.compare(whole, input, other);
  };
  auto extreme = [&](Reduction kind, Value value) {
    return reduce(b.builder, b.loc, kind, value, {axis});
  };
  Value numbers = b.indicesAlong(shape, axis), left; // null: all are left
  SmallVector<int64_t> one(shape), all(shape);
  one[axis] = 1;
  all[axis] = count;
  SmallVector<Value> places;
  for (int64_t i = 0; i < count; ++i) {
    Value rest =
        left ? b.select(left, input, b.number(lowest(input), input)) : input;
    Value most = along(b, extreme(Reduction::max, rest), shape, axis);
    Value equal = is(FloatIs::OEQ, IntegerIs::eq, most);
    Value wins = left ? b.make<arith::AndIOp>(equal, left) : equal;
    Value place =
        extreme(Reduction::min,
                b.select(wins, numbers, b.number(shape[axis] - 1, numbers)));
    places.push_back(b.shaped(place, one));
    Value later =
        b.compare(IntegerIs::sgt, numbers, along(b, place, shape, axis));
    left = b.make<arith::OrIOp>(is(FloatIs::OLT, IntegerIs::slt, most),
                                b.make<arith::AndIOp>(equal, later));
  }
  return b.make<ConcatenateOp>(tensorType(numbers).clone(all), places, axis);
}

/// Computes placesByRank by sorting.
Value placesBySorting(const Building &b, Value input, int64_t axis,
                      bool largest, int64_t count) {
  input = largest ? input : reversed(b, input);
  return sortedPlaces(b, input, lowest(input), axis, count);
}

/// The elements at these indices; compares each index with all elements.
Value elementsAt(const Building &b, Value input, Value places, int64_t axis) {
  SmallVector<int64_t> pairs = inserted(tensorType(input).getShape(), axis,
                                        tensorType(places).getDimSize(axis));
  Value here =
      b.compare(IntegerIs::eq,
                broadcastAlong(b.builder, b.loc, places, pairs, {axis + 1}),
                b.indicesAlong(pairs, axis + 1));
  Value elements = broadcastAlong(b.builder, b.loc, input, pairs, {axis});
  return sum(b.builder, b.loc, b.select(here, elements, b.number(0, elements)),
             {axis + 1});
}

/// The k largest (or smallest) elements of each row, and their indices.
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
  // Costs: a maximum passes over each row twice; a rank compares each element
  // with all others; each step of sorting is a kernel launch.
  constexpr int64_t mostTurns = 128, passesOfTurn = 8, mostPairs = 512;
  bool inTurn = count[0] > 0 && count[0] <= mostTurns &&
                count[0] * passesOfTurn <= shape[axis];
  bool sorts = !inTurn && count[0] > 0 && shape[axis] > mostPairs;
  Value places =
      (inTurn  ? placesInTurn
       : sorts ? placesBySorting
               : placesByRank)(b, keyOf(b, b.ordered(input, b.isUnsigned())),
                               axis, node.integer("largest", 1), count[0]);
  Value taken = (sorts ? takenAt : elementsAt)(b, input, places, axis);
  GRADUS_RETURN_IF_ERROR(importer.define(node, 0, taken));
  return importer.define(node, 1, places);
}

//===-- sums and products -------------------------------------------------===//

/// The elements in a cumulative sum.
struct Sums {
  int64_t axis;
  bool exclusive, reverse; // without the element itself; from the end on
};

/// Computes each sum separately from all elements.
Value sumsOfAll(const Building &b, Value input, const Sums &sums) {
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  SmallVector<int64_t> pairs = inserted(shape, sums.axis, shape[sums.axis]);
  Value terms = broadcastAlong(b.builder, b.loc, input, pairs, {sums.axis});
  Value result = b.indicesAlong(pairs, sums.axis),
        term = b.indicesAlong(pairs, sums.axis + 1);
  if (sums.reverse)
    std::swap(result, term);
  Value counts =
      b.compare(sums.exclusive ? IntegerIs::slt : IntegerIs::sle, term, result);
  Value kept = b.select(counts, terms, b.number(0, terms));
  return sum(b.builder, b.loc, kept, {sums.axis + 1});
}

/// Splits the axis into rows of `block`, padded with zeros.
Value inBlocks(const Building &b, Value input, int64_t axis, int64_t block) {
  SmallVector<int64_t> shape(tensorType(input).getShape());
  SmallVector<int64_t> none(shape.size(), 0), missing(shape.size(), 0);
  int64_t blocks = llvm::divideCeil(shape[axis], block);
  missing[axis] = blocks * block - shape[axis];
  shape[axis] = blocks * block;
  Value padded = b.make<PadOp>(tensorType(input).clone(shape), input, none,
                               missing, none, llvm::APFloat(0.0));
  shape[axis] = block;
  return b.shaped(padded, inserted(shape, axis, blocks));
}

/// Sums within blocks and adds the sums of the blocks before: the work is
/// linear in the axis, not quadratic.
Value sumsSoFar(const Building &b, Value input, const Sums &sums) {
  constexpr int64_t block = 32;
  SmallVector<int64_t> shape(tensorType(input).getShape());
  if (shape[sums.axis] <= 2 * block)
    return sumsOfAll(b, input, sums);
  Value rows = inBlocks(b, input, sums.axis, block);
  Value inside =
      sumsOfAll(b, rows, {sums.axis + 1, sums.exclusive, sums.reverse});
  Value totals = sum(b.builder, b.loc, rows, {sums.axis + 1});
  Value before = sumsSoFar(b, totals, {sums.axis, true, sums.reverse});
  Value all = b.add(inside, broadcastAlong(b.builder, b.loc, before,
                                           tensorType(rows).getShape(),
                                           {sums.axis + 1}));
  SmallVector<int64_t> whole(shape);
  whole[sums.axis] = tensorType(rows).getDimSize(sums.axis) * block;
  return b.cutAlong(b.shaped(all, whole), sums.axis, 0, shape[sums.axis]);
}

/// The sum of all elements up to each one (without it if exclusive).
absl::Status cumulativeSum(Importer &importer, const Node &node) {
  Building b(importer, node);
  GRADUS_ASSIGN_OR_RETURN(Value input, importer.value(node, 0));
  GRADUS_ASSIGN_OR_RETURN(SmallVector<int64_t> given,
                          importer.integers(node, 1, "axis"));
  absl::StatusOr<int64_t> axis = normalAxis(
      given.size() == 1 ? given[0] : INT64_MAX, tensorType(input).getRank());
  if (!axis.ok())
    return node.error(axis.status().message());
  Sums sums = {*axis, node.integer("exclusive", 0) != 0,
               node.integer("reverse", 0) != 0};
  // Sums of blocks are rounded once, at the end.
  Type element = tensorType(input).getElementType();
  Value wide = Building::isFloat(input)
                   ? convert(b.builder, b.loc, input, computeType(element))
                   : input;
  Value result = sumsSoFar(b, wide, sums);
  return importer.define(node, 0, convert(b.builder, b.loc, result, element));
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
    return broadcastLast(b.builder, b.loc, taken, result);
  };
  GRADUS_RETURN_IF_ERROR(
      importer.define(node, 0, b.select(hot, value(1), value(0))));
  importer.setUnsigned(node, 0, b.isUnsigned(2));
  return absl::OkStatus();
}

constexpr Ignored kIgnoredByTopK[] = {
    {"sorted", "elements are sorted always, as 0 allows too"}};

const Operator kOperators[] = {
    {"ArgMax", {6}, argExtreme<Reduction::max>},
    {"ArgMin", {6}, argExtreme<Reduction::min>},
    {"TopK", {6, "X", "computed `K`", nullptr, "", kIgnoredByTopK}, topK},
    {"CumSum", {11, "x", "computed `axis`"}, cumulativeSum},
    {"Trilu", {14, "input", "computed `k`"}, triangle},
    {"OneHot", {9, "", "computed `depth`"}, oneHot},
};

} // namespace

llvm::ArrayRef<Operator> rankingOperators() { return kOperators; }

} // namespace gradus::onnx
