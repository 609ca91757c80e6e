// nadam: adam with Nesterov's momentum, as torch.optim.NAdam. Dozat,
// "Incorporating Nesterov Momentum into Adam", 2016.
//
//   mu(t) = beta1 * (1 - 0.96^(t * momentum_decay) / 2)
//   p = mu(1) * ... * mu(t)
//   w = w - learning_rate * ((1 - mu(t)) / (1 - p) * g
//         + mu(t + 1) / (1 - p * mu(t + 1)) * m) / (sqrt(v / (1 - beta2^t)) +
//         epsilon)
//
// with adam's m and v.

#include "passes/optimizers/moments.h"

using namespace mlir;
using namespace gradus;

namespace {

struct NadamSettings {
  Betas betas;
  recipe::Number epsilon, momentumDecay;
};

/// mu at a step: the part of the momentum in the move.
Value momentumAt(ParameterStep &step, const NadamSettings &settings,
                 Value beta1, Value number) {
  const Arithmetic &math = step.math;
  Value exponent = math.multiply(number, step.number(settings.momentumDecay));
  Value warming = math.power(step.scalar(0.96), exponent);
  return math.multiply(beta1,
                       step.rest(math.multiply(step.scalar(0.5), warming)));
}

/// a / (1 - b).
Value over(const ParameterStep &step, Value a, Value b) {
  return step.math.divide(a, step.rest(b));
}

LogicalResult move(ParameterStep &step, const NadamSettings &settings) {
  if (step.settings.decouplesDecay)
    step.decay();
  const Arithmetic &math = step.math;
  Value beta1 = step.beta(settings.betas, 0);
  Value beta2 = step.beta(settings.betas, 1);
  Value now = momentumAt(step, settings, beta1, step.stepNumber);
  Value next = momentumAt(step, settings, beta1,
                          math.add(step.stepNumber, step.scalar(1)));
  Value product =
      math.multiply(now, step.readSlot("momentum_product", tensorType(now), 1));
  step.writeSlot("momentum_product", product);

  Value first = newFirstMoment(step, step.gradient, beta1);
  Value second = newSecondMoment(step, step.gradient, beta2);
  Value divisor =
      correctedDeviation(step, second, beta2, step.number(settings.epsilon));
  Value ofGradient =
      step.scale(over(step, step.rest(now), product), step.gradient);
  Value ofMoment =
      step.scale(over(step, next, math.multiply(product, next)), first);
  step.descend(math.divide(math.add(ofGradient, ofMoment), divisor));
  return success();
}

} // namespace

Optimizer gradus::nadam() {
  using S = NadamSettings;
  return optimizer<S>(
      "nadam",
      {learningRate("0.002"), betas("[0.9, 0.999]").into(&S::betas),
       epsilon("1e-8").into(&S::epsilon), weightDecay("0.0"),
       amount("momentum_decay", "0.004", "how fast the momentum warms up")
           .into(&S::momentumDecay),
       decoupled()},
      move);
}
