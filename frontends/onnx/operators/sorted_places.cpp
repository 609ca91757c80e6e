// Batcher's bitonic network ("Sorting networks and their applications", 1968)
// on whole tensors: each step compares all elements of a row with those at one
// distance. Rows, padded to a power of two, are sorted in blocks of the
// requested number of elements; then half of the blocks are discarded
// repeatedly, until one is left.

#include "frontends/onnx/operators/sorted_places.h"

#include "llvm/Support/MathExtras.h"

namespace gradus::onnx {
namespace {

using namespace mlir;
using IntegerIs = arith::CmpIPredicate;

/// A tensor as rows along the middle of three axes.
struct Shape {
  int64_t outer, length, inner;

  Shape(ArrayRef<int64_t> shape, int64_t axis)
      : outer(llvm::product_of(shape.take_front(axis))), length(shape[axis]),
        inner(llvm::product_of(shape.drop_front(axis + 1))) {}
  SmallVector<int64_t> of(int64_t rowLength) const {
    return {outer, rowLength, inner};
  }
};

/// The elements of all rows: their keys and indices.
struct Elements {
  Value keys, places;
};

class Network {
public:
  Network(const Building &b, const Shape &shape) : b_(b), shape_(shape) {}

  /// Sorts blocks of `size`: the first descending, the second ascending, and so
  /// on.
  Elements sorted(Elements x, int64_t size) const {
    for (int64_t sorted = 2; sorted <= size; sorted *= 2)
      x = merged(x, sorted);
    return x;
  }

  /// Sorts blocks that are bitonic (descending and ascending, or the reverse).
  Elements merged(Elements x, int64_t size) const {
    for (int64_t distance = size / 2; distance > 0; distance /= 2)
      x = exchanged(x, size, distance);
    return x;
  }

  /// Merges each two blocks, one descending and one ascending, to the half that
  /// comes first, which is bitonic.
  Elements firstOfTwo(Elements x, int64_t size) const {
    SmallVector<int64_t> twos = {shape_.outer, lengthOf(x) / (2 * size), 2,
                                 size * shape_.inner};
    auto half = [&](Value value, int64_t which) {
      return b_.shaped(b_.cutAlong(b_.shaped(value, twos), 2, which, 1),
                       shape_.of(lengthOf(x) / 2));
    };
    Elements down = {half(x.keys, 0), half(x.places, 0)},
             up = {half(x.keys, 1), half(x.places, 1)};
    return chosen(comesBefore(up, down), up, down);
  }

  static int64_t lengthOf(const Elements &x) {
    return tensorType(x.keys).getDimSize(1);
  }

private:
  /// Exchanges elements at `distance` so that both are in the order of their
  /// block.
  Elements exchanged(Elements x, int64_t size, int64_t distance) const {
    int64_t length = lengthOf(x), pairs = size / (2 * distance);
    SmallVector<int64_t> lanes = {shape_.outer, length / (2 * distance), 2,
                                  distance, shape_.inner};
    Elements own = {b_.shaped(x.keys, lanes), b_.shaped(x.places, lanes)},
             other = {flipped(own.keys), flipped(own.places)};
    Value pair = b_.indicesAlong(lanes, 1), lane = b_.indicesAlong(lanes, 2);
    Value block = b_.make<arith::AndIOp>(
        b_.make<arith::ShRUIOp>(pair, b_.number(llvm::Log2_64(pairs), pair)),
        b_.number(1, pair));
    Value isLast = b_.compare(IntegerIs::ne, lane, block);
    Value takes = b_.make<arith::XOrIOp>(comesBefore(other, own), isLast);
    Elements both = chosen(takes, other, own);
    return {b_.shaped(both.keys, shape_.of(length)),
            b_.shaped(both.places, shape_.of(length))};
  }

  Value comesBefore(const Elements &x, const Elements &y) const {
    auto is = [&](arith::CmpFPredicate real, IntegerIs whole) {
      return Building::isFloat(x.keys) ? b_.compare(real, x.keys, y.keys)
                                       : b_.compare(whole, x.keys, y.keys);
    };
    Value larger = is(arith::CmpFPredicate::OGT, IntegerIs::sgt);
    Value equal = is(arith::CmpFPredicate::OEQ, IntegerIs::eq);
    Value earlier = b_.compare(IntegerIs::slt, x.places, y.places);
    return b_.make<arith::OrIOp>(larger,
                                 b_.make<arith::AndIOp>(equal, earlier));
  }

  Elements chosen(Value condition, const Elements &x, const Elements &y) const {
    return {b_.select(condition, x.keys, y.keys),
            b_.select(condition, x.places, y.places)};
  }

  /// Reverses axis 2, which has two elements.
  Value flipped(Value value) const {
    SmallVector<int64_t> starts = {0, 0, 1, 0, 0}, steps = {1, 1, -1, 1, 1};
    return b_.make<SliceOp>(tensorType(value), value, starts, steps);
  }

  const Building &b_;
  Shape shape_;
};

/// Appends `missing` elements to the rows.
Value lengthened(const Building &b, Value rows, int64_t missing, double fill) {
  SmallVector<int64_t> shape(tensorType(rows).getShape()), none(3, 0),
      high = {0, missing, 0};
  shape[1] += missing;
  return b.make<PadOp>(tensorType(rows).clone(shape), rows, none, high, none,
                       llvm::APFloat(fill));
}

} // namespace

Value sortedPlaces(const Building &b, Value keys, double least, int64_t axis,
                   int64_t count) {
  SmallVector<int64_t> result(tensorType(keys).getShape());
  Shape shape(result, axis);
  int64_t length = llvm::PowerOf2Ceil(shape.length),
          size = llvm::PowerOf2Ceil(count);
  Network network(b, shape);
  // The padding comes last, because its indices do.
  Elements x = {lengthened(b, b.shaped(keys, shape.of(shape.length)),
                           length - shape.length, least),
                b.indicesAlong(shape.of(length), 1)};
  x = network.sorted(x, size);
  while (Network::lengthOf(x) > size)
    x = network.merged(network.firstOfTwo(x, size), size);
  result[axis] = count;
  return b.shaped(b.cutAlong(x.places, 1, 0, count), result);
}

Value takenAt(const Building &b, Value input, Value places, int64_t axis) {
  RankedTensorType type =
      tensorType(input).clone(tensorType(places).getShape());
  Shape shape(tensorType(input).getShape(), axis);
  Value at = b.shaped(places, shape.of(type.getDimSize(axis)));
  auto plus = [&](Value sum, int64_t factor, Value term) {
    return b.add(b.multiply(sum, b.number(factor, sum)), term);
  };
  ArrayRef<int64_t> rows = tensorType(at).getShape();
  at = plus(b.indicesAlong(rows, 0), shape.length, at);
  at = plus(at, shape.inner, b.indicesAlong(rows, 2));
  Value flat = b.shaped(input, {shape.outer * shape.length * shape.inner});
  Value taken = b.make<GatherOp>(
      tensorType(flat).clone(ArrayRef<int64_t>{type.getNumElements()}), flat,
      b.shaped(at, {type.getNumElements()}), /*axis=*/0, /*batch_dims=*/0);
  return b.shaped(taken, type.getShape());
}

} // namespace gradus::onnx
