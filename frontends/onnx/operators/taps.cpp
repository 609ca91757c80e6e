// Positions between pixels: maps them by the padding and computes weights; see
// taps.h.

#include "frontends/onnx/operators/taps.h"

namespace gradus::onnx {

using namespace mlir;
using FloatIs = arith::CmpFPredicate;

Value clipped(const Building &b, Value x, double low, double high) {
  return b.make<ClipOp>(x.getType(), x, b.builder.getF64FloatAttr(low),
                        b.builder.getF64FloatAttr(high));
}

Value scaled(const Building &b, Value x, double factor, double shift) {
  return b.add(b.multiply(x, b.number(factor, x)), b.number(shift, x));
}

namespace {

//===-- coordinates -------------------------------------------------------===//

/// Reflects at the borders until the position lies between them.
Value reflected(const Building &b, Value x, const PixelAxis &axis) {
  double low = axis.low(), range = axis.high() - low;
  if (range <= 0)
    return b.number(0, x);
  Value distance = b.absolute(scaled(b, x, 1, -low));
  Value turns = b.floor(scaled(b, distance, 1 / (2 * range), 0));
  Value rest = b.subtract(distance, scaled(b, turns, 2 * range, 0));
  Value back = scaled(b, rest, -1, 2 * range);
  Value beyond = b.compare(FloatIs::OGT, rest, b.number(range, rest));
  return scaled(b, b.select(beyond, back, rest), 1, low);
}

/// Maps a position outside to one inside unless padding is zeros.
Value broughtBack(const Building &b, Value x, const PixelAxis &axis) {
  if (axis.padding == "zeros")
    return x;
  auto is = [&](FloatIs predicate, double bound) {
    return b.compare(predicate, x, b.number(bound, x));
  };
  Value outside = b.make<arith::OrIOp>(is(FloatIs::OLT, axis.low()),
                                       is(FloatIs::OGT, axis.high()));
  Value inside = axis.padding == "border" ? clipped(b, x, 0, axis.size - 1.0)
                                          : reflected(b, x, axis);
  return b.select(outside, inside, x);
}

//===-- weights -----------------------------------------------------------===//

Tap tapAt(const Building &b, Value whole, Value weight, const PixelAxis &axis) {
  double last = axis.size - 1.0;
  Value isPixel;
  if (axis.padding == "zeros")
    isPixel = b.make<arith::AndIOp>(
        b.compare(FloatIs::OGE, whole, b.number(0, whole)),
        b.compare(FloatIs::OLE, whole, b.number(last, whole)));
  if (axis.padding == "reflection")
    whole = b.make<math::RoundEvenOp>(reflected(b, whole, axis));
  Value index = castTo(b, clipped(b, whole, 0, last), b.builder.getI64Type());
  return {index, weight, isPixel};
}

/// Keys' cubic kernel with a = -0.75 at a distance from 0 to 1, or 1 to 2.
Value cubicNear(const Building &b, Value x) {
  const double a = -0.75;
  Value square = b.multiply(x, x);
  return scaled(b, b.multiply(scaled(b, x, a + 2, -(a + 3)), square), 1, 1);
}
Value cubicFar(const Building &b, Value x) {
  const double a = -0.75;
  Value inner = scaled(b, b.multiply(scaled(b, x, a, -5 * a), x), 1, 8 * a);
  return scaled(b, b.multiply(inner, x), 1, -4 * a);
}

} // namespace

SmallVector<Tap> linearTaps(const Building &b, Value x, const PixelAxis &axis) {
  Value floor = b.floor(x), part = b.subtract(x, floor);
  return {tapAt(b, floor, scaled(b, part, -1, 1), axis),
          tapAt(b, scaled(b, floor, 1, 1), part, axis)};
}

SmallVector<Tap> tapsOf(const Building &b, Value x, const PixelAxis &axis,
                        StringRef mode) {
  if (mode == "nearest") {
    x = broughtBack(b, b.make<math::RoundEvenOp>(x), axis);
    return {tapAt(b, x, Value(), axis)};
  }
  x = broughtBack(b, x, axis);
  if (mode == "linear")
    return linearTaps(b, x, axis);
  Value floor = b.floor(x), part = b.subtract(x, floor);
  Value rest = scaled(b, part, -1, 1);
  auto tap = [&](double offset, Value weight) {
    return tapAt(b, scaled(b, floor, 1, offset), weight, axis);
  };
  return {tap(-1, cubicFar(b, scaled(b, part, 1, 1))),
          tap(0, cubicNear(b, part)), tap(1, cubicNear(b, rest)),
          tap(2, cubicFar(b, scaled(b, rest, 1, 1)))};
}

//===-- gathers -----------------------------------------------------------===//

/// The values at the taps' pixels, times their weights.
static Value sampleAt(const Building &b, const Pixels &pixels,
                      ArrayRef<Tap> taps) {
  Value position, weight, isPixel;
  for (auto [tap, size] : llvm::zip(taps, pixels.sizes)) {
    position = position ? b.add(b.multiply(position, b.number(size, position)),
                                tap.index)
                        : tap.index;
    if (tap.weight)
      weight = weight ? b.multiply(weight, tap.weight) : tap.weight;
    if (tap.isPixel)
      isPixel =
          isPixel ? b.make<arith::AndIOp>(isPixel, tap.isPixel) : tap.isPixel;
  }
  SmallVector<int64_t> shape(tensorType(pixels.rows).getShape());
  shape[pixels.axis] = tensorType(position).getDimSize(1);
  Value values =
      b.make<GatherOp>(tensorType(pixels.rows).clone(shape), pixels.rows,
                       position, pixels.axis, /*batch_dims=*/1);
  auto everyChannel = [&](Value value) {
    return broadcast(b.builder, b.loc, value, shape, {0, pixels.axis});
  };
  Type element = tensorType(pixels.rows).getElementType();
  if (weight)
    values = b.multiply(values, everyChannel(castTo(b, weight, element)));
  return isPixel ? b.select(everyChannel(isPixel), values, b.number(0, values))
                 : values;
}

void forEachSample(const Building &b, const Pixels &pixels,
                   ArrayRef<SmallVector<Tap>> taps,
                   llvm::function_ref<void(Value)> visit) {
  SmallVector<int64_t> counts;
  for (const SmallVector<Tap> &each : taps)
    counts.push_back(each.size());
  forEachIndex(counts, [&](ArrayRef<int64_t> index) {
    SmallVector<Tap> chosen;
    for (auto [each, i] : llvm::zip(taps, index))
      chosen.push_back(each[i]);
    visit(sampleAt(b, pixels, chosen));
  });
}

Value sampled(const Building &b, const Pixels &pixels,
              ArrayRef<SmallVector<Tap>> taps) {
  Value total;
  forEachSample(b, pixels, taps,
                [&](Value term) { total = total ? b.add(total, term) : term; });
  return total;
}

} // namespace gradus::onnx
