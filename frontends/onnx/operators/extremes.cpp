// A reduction propagates NaN, which no comparison finds again.

#include "frontends/onnx/operators/extremes.h"

using namespace mlir;

namespace gradus::onnx {

Value isExtreme(const Building &b, Value input, Value extreme) {
  if (!Building::isFloat(input))
    return b.compare(arith::CmpIPredicate::eq, input, extreme);
  using FloatIs = arith::CmpFPredicate;
  return b.make<arith::OrIOp>(b.compare(FloatIs::OEQ, input, extreme),
                              b.make<math::IsNaNOp>(input));
}

Value placeOfExtreme(const Building &b, Reduction kind, Value input,
                     int64_t axis, bool last) {
  ArrayRef<int64_t> shape = tensorType(input).getShape();
  Value extreme = broadcastAlong(b.builder, b.loc,
                                 reduce(b.builder, b.loc, kind, input, {axis}),
                                 shape, {axis});
  Value numbers = b.indicesAlong(shape, axis);
  Value loser = b.number(last ? 0 : shape[axis] - 1, numbers); // valid index
  return reduce(b.builder, b.loc, last ? Reduction::max : Reduction::min,
                b.select(isExtreme(b, input, extreme), numbers, loser), {axis});
}

} // namespace gradus::onnx
