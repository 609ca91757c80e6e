// Arithmetic on small matrices and vectors; see quasi_newton.h.

#include "passes/methods/quasi_newton.h"

#include "passes/numbers.h"

using namespace mlir;

namespace gradus {
namespace {

/// The matrix whose rows, or columns, are all one vector.
Value spread(const Arithmetic &math, Value vector, int64_t axis) {
  int64_t size = tensorType(vector).getNumElements();
  return broadcast(math.builder, math.loc, vector, {size, size}, {axis});
}

Value outerProduct(const Arithmetic &math, Value rows, Value columns) {
  return math.multiply(spread(math, rows, 0), spread(math, columns, 1));
}

} // namespace

Value timesVector(const Arithmetic &math, Value matrix, Value vector) {
  return sum(math.builder, math.loc,
             math.multiply(matrix, spread(math, vector, 1)), {1});
}

Value innerProduct(const Arithmetic &math, Value one, Value other) {
  return sum(math.builder, math.loc, math.multiply(one, other), {0});
}

/// With u = H y this is H - (s u^T + u s^T) / q + (1 + y u / q) s s^T / q,
/// which takes n^2 operations instead of n^3.
Value inverseAfterStep(const Arithmetic &math, Value inverse, Value step,
                       Value change, double threshold) {
  Value q = innerProduct(math, change, step);
  Value u = timesVector(math, inverse, change);
  // The result is not taken if q is small; its division is by 1 then.
  Value curves = math.greater(q, math.number(threshold, q));
  Value one = math.number(1, q),
        share = math.divide(one, math.select(curves, q, one));
  Value weight = math.multiply(
      math.add(one, math.multiply(innerProduct(math, change, u), share)),
      share);
  Value cross =
      math.add(outerProduct(math, step, u), outerProduct(math, u, step));
  Value square = outerProduct(math, step, step);
  Value after = math.add(
      math.subtract(inverse,
                    math.multiply(spreadLike(math, share, cross), cross)),
      math.multiply(spreadLike(math, weight, square), square));
  Value takes = broadcastScalar(math.builder, math.loc, curves,
                                tensorType(inverse).getShape());
  return math.select(takes, after, inverse);
}

} // namespace gradus
