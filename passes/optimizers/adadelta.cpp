// adadelta: steps by the ratio of the roots of the mean squares of earlier
// moves and of gradients, as torch.optim.Adadelta. Zeiler,
// https://arxiv.org/abs/1212.5701.
//
//   v = decay_rate * v + (1 - decay_rate) * g^2
//   d = sqrt(u + epsilon) / sqrt(v + epsilon) * g
//   u = decay_rate * u + (1 - decay_rate) * d^2
//   w = w - learning_rate * d

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

namespace {

struct AdadeltaSettings {
  recipe::Number decayRate, epsilon;
};

LogicalResult move(ParameterStep &step, const AdadeltaSettings &settings) {
  const Arithmetic &math = step.math;
  Value rate = step.number(settings.decayRate);
  Value epsilon = step.number(settings.epsilon);
  Value square = step.average(rate, step.readSlot("mean_square"),
                              math.multiply(step.gradient, step.gradient));
  step.writeSlot("mean_square", square);
  Value moves = step.readSlot("mean_square_move");
  Value ratio = math.divide(math.squareRoot(step.shift(moves, epsilon)),
                            math.squareRoot(step.shift(square, epsilon)));
  Value direction = math.multiply(ratio, step.gradient);
  step.writeSlot(
      "mean_square_move",
      step.average(rate, moves, math.multiply(direction, direction)));
  step.descend(direction);
  return success();
}

} // namespace

Optimizer gradus::adadelta() {
  using S = AdadeltaSettings;
  return optimizer<S>(
      "adadelta",
      {learningRate("1.0"),
       rate("decay_rate", "0.9", "of the mean squares").into(&S::decayRate),
       epsilon("1e-6").into(&S::epsilon), weightDecay("0.0")},
      move);
}
