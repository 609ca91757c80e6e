// rmsprop: steps by the gradient over the root of its mean square, as
// torch.optim.RMSprop. Hinton's lecture notes.
//
//   v = decay_rate * v + (1 - decay_rate) * g^2
//   a = a + (1 - decay_rate) * (g - a)                       (if centered)
//   d = g / (sqrt(v - a^2) + epsilon)
//   b = momentum * b + d;  w = w - learning_rate * b
//
// SINGA has epsilon inside the root. So has MindSpore, whose v starts at 1 and
// whose b has the learning rate in it.

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

/// v, or the variance v - a^2.
static Value newSpread(ParameterStep &step, Value rate) {
  const Arithmetic &math = step.math;
  double initial = step.settings.follows("mindspore") ? 1 : 0;
  Value square = step.average(rate, step.readSlot("mean_square", initial),
                              math.multiply(step.gradient, step.gradient));
  step.writeSlot("mean_square", square);
  if (!step.settings.flag("centered", false))
    return square;
  Value mean = step.approach(rate, step.readSlot("mean"), step.gradient);
  step.writeSlot("mean", mean);
  return math.subtract(square, math.multiply(mean, mean));
}

static Value newMomentum(ParameterStep &step, Value direction) {
  Value kept =
      step.scale(step.number("momentum", 0), step.readSlot("momentum"));
  Value momentum = step.math.add(kept, direction);
  step.writeSlot("momentum", momentum);
  return momentum;
}

LogicalResult gradus::rmsprop(ParameterStep &step) {
  const Arithmetic &math = step.math;
  Value epsilon = step.number("epsilon", 1e-8);
  Value spread = newSpread(step, step.number("decay_rate", 0.99));
  bool inside =
      step.settings.follows("singa") || step.settings.follows("mindspore");
  Value divisor = inside ? math.squareRoot(step.shift(spread, epsilon))
                         : step.shift(math.squareRoot(spread), epsilon);
  Value direction = math.divide(step.gradient, divisor);
  if (step.settings.follows("mindspore")) {
    Value move = newMomentum(step, step.scale(step.learningRate, direction));
    step.writeParameter(math.subtract(step.parameter, move));
    return success();
  }
  if (step.settings.number("momentum", 0) != 0)
    direction = newMomentum(step, direction);
  step.descend(direction);
  return success();
}
