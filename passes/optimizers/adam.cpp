// adam: steps of the size of the learning rate, by the gradient's moments, as
// torch.optim.Adam. Kingma and Ba, https://arxiv.org/abs/1412.6980.
//
//   m = m + (1 - beta1) * (g - m)
//   v = beta2 * v + (1 - beta2) * g^2          (amsgrad: the largest v so far)
//   w = w - learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) +
//   epsilon)
//
// MindSpore adds epsilon to the uncorrected root of v. With `nesterov` the next
// step's moment beta1 * m + (1 - beta1) * g takes the place of m.

#include "passes/optimizers/moments.h"

using namespace mlir;
using namespace gradus;

/// The largest second moment of each element so far.
static Value largestSoFar(ParameterStep &step, Value second) {
  Value largest = step.math.larger(step.readSlot("largest_moment"), second);
  step.writeSlot("largest_moment", largest);
  return largest;
}

LogicalResult gradus::adam(ParameterStep &step) {
  if (mlir::failed(checkBetas(step)))
    return failure();
  const Arithmetic &math = step.math;
  Value beta1 = step.beta(0, 0.9), beta2 = step.beta(1, 0.999);
  Value first = newFirstMoment(step, step.gradient, beta1);
  Value second = newSecondMoment(step, step.gradient, beta2);
  if (step.settings.flag("amsgrad", false))
    second = largestSoFar(step, second);
  if (step.settings.flag("nesterov", false))
    first = step.average(beta1, first, step.gradient);
  Value size = math.divide(step.learningRate, biasCorrection(step, beta1));
  Value divisor;
  if (step.settings.follows("mindspore")) {
    size = math.multiply(size, math.squareRoot(biasCorrection(step, beta2)));
    divisor = step.shift(math.squareRoot(second), step.number("epsilon", 1e-8));
  } else {
    divisor = correctedDeviation(step, second, beta2, 1e-8);
  }
  Value move = step.scale(size, math.divide(first, divisor));
  step.writeParameter(math.subtract(step.parameter, move));
  return success();
}
