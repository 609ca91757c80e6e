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

struct AdafactorSettings {
  recipe::Number decayPower, epsilon, minimumScale, clipThreshold;
};

class Adafactor {
public:
  Adafactor(ParameterStep &step, const AdafactorSettings &settings)
      : step_(step), settings_(settings), math_(step.math),
        type_(tensorType(step.parameter)),
        part_(math_.power(step.stepNumber, step.number(settings.decayPower))) {}

  /// v.
  Value estimate() {
    Value square = math_.multiply(step_.gradient, step_.gradient);
    int64_t rank = type_.getRank();
    if (rank < 2)
      return newAverage("second_moment", square);
    Value rows = newAverage("rows", along(square, rank - 1));
    Value columns = newAverage("columns", along(square, rank - 2));
    Value middle = mean(math_.builder, math_.loc, rows, {rank - 2});
    middle = math_.larger(middle, epsilonLike(middle));
    rows = math_.divide(rows, broadcastAlong(math_.builder, math_.loc, middle,
                                             tensorType(rows).getShape(),
                                             {rank - 2}));
    return math_.multiply(spreadAlong(rows, rank - 1),
                          spreadAlong(columns, rank - 2));
  }

  /// |value| / sqrt(size), a scalar of f64.
  Value size(Value value) const {
    Value norm = convert(math_.builder, math_.loc, math_.norm(value),
                         math_.builder.getF64Type());
    return math_.divide(
        norm, step_.scalar(std::sqrt(double(type_.getNumElements()))));
  }

  /// epsilon in every element of a tensor like `value`.
  Value epsilonLike(Value value) const {
    return step_.spread(step_.plain(settings_.epsilon), value);
  }

private:
  Value along(Value value, int64_t axis) const {
    return mean(math_.builder, math_.loc, value, {axis});
  }
  Value spreadAlong(Value value, int64_t axis) const {
    return broadcastAlong(math_.builder, math_.loc, value, type_.getShape(),
                          {axis});
  }
  Value newAverage(StringRef slot, Value value) {
    Value old = step_.readSlot(slot, tensorType(value));
    Value weight =
        convert(math_.builder, math_.loc, part_, type_.getElementType());
    weight = broadcastScalar(math_.builder, math_.loc, weight,
                             tensorType(value).getShape());
    Value average =
        math_.add(old, math_.multiply(weight, math_.subtract(value, old)));
    step_.writeSlot(slot, average);
    return average;
  }

  ParameterStep &step_;
  const AdafactorSettings &settings_;
  const Arithmetic &math_;
  RankedTensorType type_;
  Value part_; // of the new square in the average
};

LogicalResult move(ParameterStep &step, const AdafactorSettings &settings) {
  const Arithmetic &math = step.math;
  Adafactor parts(step, settings);
  Value root = math.squareRoot(parts.estimate());
  Value deviation = math.larger(root, parts.epsilonLike(root));
  Value direction = math.divide(step.gradient, deviation);
  Value rate = math.smaller(
      step.learningRate,
      math.divide(step.scalar(1), math.squareRoot(step.stepNumber)));
  Value scale = math.larger(step.number(settings.minimumScale),
                            parts.size(step.parameter));
  Value length = math.larger(
      step.scalar(1),
      math.divide(parts.size(direction), step.number(settings.clipThreshold)));
  step.decay();
  step.learningRate = math.divide(math.multiply(scale, rate), length);
  step.descend(direction);
  return success();
}

} // namespace

Optimizer gradus::adafactor() {
  using S = AdafactorSettings;
  recipe::Field power = {
      "decay_power", recipe::Kind::number, "-0.8",
      "of the step: the part of a new square in the average"};
  Optimizer made = optimizer<S>(
      "adafactor",
      {learningRate("0.01"), power.into(&S::decayPower),
       epsilon("1.1920928955078125e-07").into(&S::epsilon),
       amount("minimum_scale", "0.001",
              "minimum scale of a parameter that a step is made for")
           .into(&S::minimumScale),
       amount("clip_threshold", "1.0", "longest step, in deviations")
           .into(&S::clipThreshold),
       weightDecay("0.0")},
      move);
  made.couplesDecay = false;
  return made;
}
