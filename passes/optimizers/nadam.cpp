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

/// mu at a step: the part of the momentum in the move.
static Value momentumAt(const ParameterStep &step, Value beta1, Value number) {
  const Arithmetic &math = step.math;
  Value exponent = math.multiply(number, step.number("momentum_decay", 4e-3));
  Value warming = math.power(step.scalar(0.96), exponent);
  return math.multiply(beta1,
                       step.rest(math.multiply(step.scalar(0.5), warming)));
}

/// a / (1 - b).
static Value over(const ParameterStep &step, Value a, Value b) {
  return step.math.divide(a, step.rest(b));
}

LogicalResult gradus::nadam(ParameterStep &step) {
  FailureOr<Betas> betas = decayAndTakeBetas(step);
  if (mlir::failed(betas))
    return failure();
  const Arithmetic &math = step.math;
  auto [beta1, beta2] = *betas;
  Value now = momentumAt(step, beta1, step.stepNumber);
  Value next =
      momentumAt(step, beta1, math.add(step.stepNumber, step.scalar(1)));
  Value product =
      math.multiply(now, step.readSlot("momentum_product", tensorType(now), 1));
  step.writeSlot("momentum_product", product);

  Value first = newFirstMoment(step, step.gradient, beta1);
  Value second = newSecondMoment(step, step.gradient, beta2);
  Value divisor = correctedDeviation(step, second, beta2, 1e-8);
  Value ofGradient =
      step.scale(over(step, step.rest(now), product), step.gradient);
  Value ofMoment =
      step.scale(over(step, next, math.multiply(product, next)), first);
  step.descend(math.divide(math.add(ofGradient, ofMoment), divisor));
  return success();
}
