// adam: steps of the size of the learning rate, by the gradient's moments, as
// torch.optim.Adam. Kingma and Ba, https://arxiv.org/abs/1412.6980.
//
//   g = gradient + weight_decay * w
//   m = m + (1 - beta1) * (g - m)
//   v = beta2 * v + (1 - beta2) * g^2
//   w = w - learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) +
//   epsilon)

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

static Value newFirstMoment(ParameterStep &step, Value gradient, double beta) {
  const Arithmetic &math = step.math;
  Value old = step.readSlot("first_moment");
  Value change =
      math.multiply(step.spread(1 - beta), math.subtract(gradient, old));
  Value moment = math.add(old, change);
  step.writeSlot("first_moment", moment);
  return moment;
}

static Value newSecondMoment(ParameterStep &step, Value gradient, double beta) {
  const Arithmetic &math = step.math;
  Value kept = math.multiply(step.spread(beta), step.readSlot("second_moment"));
  Value part = math.multiply(step.spread(1 - beta), gradient);
  Value moment = math.add(kept, math.multiply(part, gradient));
  step.writeSlot("second_moment", moment);
  return moment;
}

/// 1 - beta^t: how much of a moment's weight has come together by step t.
static Value biasCorrection(const ParameterStep &step, double beta) {
  return step.math.subtract(step.scalar(1), step.powerOfStep(beta));
}

LogicalResult gradus::moveByMoments(ParameterStep &step, Value parameter,
                                    Value gradient) {
  const Arithmetic &math = step.math;
  SmallVector<double> betas = step.settings.numbers("betas", {0.9, 0.999});
  if (betas.size() != 2)
    return step.settings.error("betas")
           << "has " << betas.size() << " numbers, expected 2";
  Value first = newFirstMoment(step, gradient, betas[0]);
  Value second = newSecondMoment(step, gradient, betas[1]);

  Value size = math.divide(step.learningRate, biasCorrection(step, betas[0]));
  Value correction = math.divide(
      step.scalar(1), math.squareRoot(biasCorrection(step, betas[1])));
  Value deviation =
      math.multiply(math.squareRoot(second), step.spread(correction));
  Value divisor =
      math.add(deviation, step.spread(step.settings.number("epsilon", 1e-8)));
  Value move = math.multiply(step.spread(size), math.divide(first, divisor));
  step.writeParameter(math.subtract(parameter, move));
  return success();
}

LogicalResult gradus::adam(ParameterStep &step) {
  return moveByMoments(step, step.parameter, decayedGradient(step));
}
