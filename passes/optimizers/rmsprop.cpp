// rmsprop: steps by the gradient over the root of its mean square, as
// torch.optim.RMSprop. Hinton's lecture notes.
//
//   v = decay_rate * v + (1 - decay_rate) * g^2
//   a = a + (1 - decay_rate) * (g - a)                       (if centered)
//   d = g / (sqrt(v - a^2) + epsilon)
//   b = momentum * b + d;  w = w - learning_rate * b
//
// SINGA and MindSpore have epsilon inside the root (`epsilon_place`); in
// MindSpore v starts at 1 (`initial_mean_square`) and b has the learning rate
// in it (`momentum_of`).

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

namespace {

enum class EpsilonPlace { outside, inside };
enum class MomentumOf { directions, moves };

struct RmspropSettings {
  recipe::Number decayRate, epsilon, momentum;
  double initialMeanSquare = 0;
  bool isCentered = false;
  EpsilonPlace place = EpsilonPlace::outside;
  MomentumOf momentumOf = MomentumOf::directions;
};

/// v, or the variance v - a^2.
Value newSpread(ParameterStep &step, const RmspropSettings &settings) {
  const Arithmetic &math = step.math;
  Value rate = step.number(settings.decayRate);
  Value square = step.average(
      rate, step.readSlot("mean_square", settings.initialMeanSquare),
      math.multiply(step.gradient, step.gradient));
  step.writeSlot("mean_square", square);
  if (!settings.isCentered)
    return square;
  Value mean = step.approach(rate, step.readSlot("mean"), step.gradient);
  step.writeSlot("mean", mean);
  return math.subtract(square, math.multiply(mean, mean));
}

Value newMomentum(ParameterStep &step, const RmspropSettings &settings,
                  Value direction) {
  Value kept =
      step.scale(step.number(settings.momentum), step.readSlot("momentum"));
  Value momentum = step.math.add(kept, direction);
  step.writeSlot("momentum", momentum);
  return momentum;
}

LogicalResult move(ParameterStep &step, const RmspropSettings &settings) {
  const Arithmetic &math = step.math;
  Value epsilon = step.number(settings.epsilon);
  Value spread = newSpread(step, settings);
  Value divisor = settings.place == EpsilonPlace::inside
                      ? math.squareRoot(step.shift(spread, epsilon))
                      : step.shift(math.squareRoot(spread), epsilon);
  Value direction = math.divide(step.gradient, divisor);
  if (settings.momentumOf == MomentumOf::moves) {
    Value move =
        newMomentum(step, settings, step.scale(step.learningRate, direction));
    step.writeParameter(math.subtract(step.parameter, move));
    return success();
  }
  if (settings.momentum.initial != 0)
    direction = newMomentum(step, settings, direction);
  step.descend(direction);
  return success();
}

} // namespace

Optimizer gradus::rmsprop() {
  using S = RmspropSettings;
  using enum recipe::Kind;
  recipe::Field place = {"epsilon_place", choice, "\"outside\"",
                         "of the root of the mean square"};
  recipe::Field of = {"momentum_of", choice, "\"directions\"",
                      "directions, or moves, which have the learning rate"};
  return optimizer<S>(
      "rmsprop",
      {learningRate("0.01"),
       rate("decay_rate", "0.99", "of the mean square").into(&S::decayRate),
       epsilon("1e-8").into(&S::epsilon),
       place.among({{"outside"}, {"inside"}})
           .under({"singa", "mindspore"}, "\"inside\"")
           .into(&S::place),
       momentum("0.0").into(&S::momentum),
       of.among({{"directions"}, {"moves"}})
           .under({"mindspore"}, "\"moves\"")
           .into(&S::momentumOf),
       amount("initial_mean_square", "0.0", "what the mean square starts from")
           .under({"mindspore"}, "1.0")
           .into(&S::initialMeanSquare),
       flag("centered", "divide by the deviation from the mean")
           .into(&S::isCentered),
       weightDecay("0.0")},
      move);
}
