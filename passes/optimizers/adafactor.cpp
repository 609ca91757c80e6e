// adafactor: the second moment of a matrix as one number per row and column,
// as torch.optim.Adafactor. Shazeer and Stern,
// https://arxiv.org/abs/1804.04235.
//
//   b = t^decay_power                                         (decay_power < 0)
//   r = r + b * (mean of g^2 over the last axis - r)
//   c = c + b * (mean of g^2 over the axis before it - c)
//   v = r * c / max(mean of r, epsilon)     (a vector has a v of its own size)
//   u = g / max(sqrt(v), epsilon)
//   a = max(minimum_scale, |w| / sqrt(size)) * min(learning_rate, 1 / sqrt(t))
//   w = w * (1 - learning_rate * weight_decay)
//       - a * u / max(1, |u| / sqrt(size) / clip_threshold)

#include "passes/optimizers/optimizer.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

namespace {

class Adafactor {
public:
  explicit Adafactor(ParameterStep &step)
      : step(step), math(step.math), type(tensorType(step.parameter)),
        part(math.power(step.stepNumber, step.number("decay_power", -0.8))) {}

  /// v.
  Value estimate() {
    Value square = math.multiply(step.gradient, step.gradient);
    int64_t rank = type.getRank();
    if (rank < 2)
      return newAverage("second_moment", square);
    Value rows = newAverage("rows", along(square, rank - 1));
    Value columns = newAverage("columns", along(square, rank - 2));
    Value middle = mean(math.builder, math.loc, rows, {rank - 2});
    middle = math.larger(middle, math.number(epsilon(), middle));
    rows = math.divide(rows,
                       broadcastAlong(math.builder, math.loc, middle,
                                      tensorType(rows).getShape(), {rank - 2}));
    return math.multiply(spreadAlong(rows, rank - 1),
                         spreadAlong(columns, rank - 2));
  }

  /// |value| / sqrt(size), a scalar of f64.
  Value size(Value value) const {
    Value norm = convert(math.builder, math.loc, math.norm(value),
                         math.builder.getF64Type());
    return math.divide(norm,
                       step.scalar(std::sqrt(double(type.getNumElements()))));
  }

  double epsilon() const {
    return step.settings.number("epsilon", 1.1920928955078125e-07);
  }

private:
  Value along(Value value, int64_t axis) const {
    return mean(math.builder, math.loc, value, {axis});
  }
  Value spreadAlong(Value value, int64_t axis) const {
    return broadcastAlong(math.builder, math.loc, value, type.getShape(),
                          {axis});
  }
  Value newAverage(StringRef slot, Value value) {
    Value old = step.readSlot(slot, tensorType(value));
    Value weight = convert(math.builder, math.loc, part, type.getElementType());
    weight = broadcastScalar(math.builder, math.loc, weight,
                             tensorType(value).getShape());
    Value average =
        math.add(old, math.multiply(weight, math.subtract(value, old)));
    step.writeSlot(slot, average);
    return average;
  }

  ParameterStep &step;
  const Arithmetic &math;
  RankedTensorType type;
  Value part; // of the new square in the average
};

} // namespace

LogicalResult gradus::adafactor(ParameterStep &step) {
  const Arithmetic &math = step.math;
  Adafactor parts(step);
  Value deviation = math.larger(math.squareRoot(parts.estimate()),
                                step.spread(parts.epsilon()));
  Value direction = math.divide(step.gradient, deviation);
  Value rate = math.smaller(
      step.learningRate,
      math.divide(step.scalar(1), math.squareRoot(step.stepNumber)));
  Value scale = math.larger(step.number("minimum_scale", 1e-3),
                            parts.size(step.parameter));
  Value length = math.larger(
      step.scalar(1),
      math.divide(parts.size(direction), step.number("clip_threshold", 1)));
  step.decay(0);
  step.learningRate = math.divide(math.multiply(scale, rate), length);
  step.descend(direction);
  return success();
}
