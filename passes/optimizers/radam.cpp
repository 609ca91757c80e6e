// radam: adam that trusts the second moment only once enough steps have gone
// into it, as torch.optim.RAdam. Liu et al., https://arxiv.org/abs/1908.03265.
//
//   long = 2 / (1 - beta2) - 1
//   l = long - 2 * t * beta2^t / (1 - beta2^t)
//   r = sqrt((l - 4) * (l - 2) * long / ((long - 4) * (long - 2) * l))
//   w = w - learning_rate * m / (1 - beta1^t)                          if l <=
//   5 w = w - the same * r * sqrt(1 - beta2^t) / (sqrt(v) + epsilon)     else
//
// with adam's m and v.

#include "passes/optimizers/moments.h"

using namespace mlir;
using namespace gradus;

namespace {

struct RadamSettings {
  Betas betas;
  recipe::Number epsilon;
};

/// The factor on the adaptive step, zero while the plain one is taken.
Value rectification(const ParameterStep &step, Value beta2) {
  const Arithmetic &math = step.math;
  auto minus = [&](Value value, double number) {
    return math.subtract(value, step.scalar(number));
  };
  Value maximum = minus(math.divide(step.scalar(2), step.rest(beta2)), 1);
  Value power = step.powerOfStep(beta2);
  Value missing = math.divide(
      math.multiply(math.multiply(step.scalar(2), step.stepNumber), power),
      step.rest(power));
  Value length = math.subtract(maximum, missing);
  Value above =
      math.multiply(math.multiply(minus(length, 4), minus(length, 2)), maximum);
  Value below = math.multiply(
      math.multiply(minus(maximum, 4), minus(maximum, 2)), length);
  Value factor = math.multiply(math.squareRoot(math.divide(above, below)),
                               math.squareRoot(biasCorrection(step, beta2)));
  return math.select(math.less(step.scalar(5), length), factor, step.scalar(0));
}

LogicalResult move(ParameterStep &step, const RadamSettings &settings) {
  if (step.settings.decouplesDecay)
    step.decay();
  const Arithmetic &math = step.math;
  Value beta1 = step.beta(settings.betas, 0);
  Value beta2 = step.beta(settings.betas, 1);
  Value first = newFirstMoment(step, step.gradient, beta1);
  Value second = newSecondMoment(step, step.gradient, beta2);
  Value factor = rectification(step, beta2);
  Value divisor =
      step.shift(math.squareRoot(second), step.number(settings.epsilon));
  Value adaptive = math.divide(step.spread(factor), divisor);
  Value trusts = math.less(step.scalar(0), factor);
  Value everywhere = broadcastScalar(math.builder, math.loc, trusts,
                                     tensorType(step.parameter).getShape());
  Value size = math.select(everywhere, adaptive, step.spread(1));
  step.learningRate =
      math.divide(step.learningRate, biasCorrection(step, beta1));
  step.descend(math.multiply(first, size));
  return success();
}

} // namespace

Optimizer gradus::radam() {
  using S = RadamSettings;
  return optimizer<S>(
      "radam",
      {learningRate("0.001"), betas("[0.9, 0.999]").into(&S::betas),
       epsilon("1e-8").into(&S::epsilon), weightDecay("0.0"), decoupled()},
      move);
}
