// adamax: adam by the largest gradient instead of the mean square, as
// torch.optim.Adamax. Kingma and Ba, https://arxiv.org/abs/1412.6980,
// section 7.
//
//   m = m + (1 - beta1) * (g - m)
//   u = max(beta2 * u, |g| + epsilon)
//   w = w - learning_rate / (1 - beta1^t) * m / u
//
// MindSpore adds epsilon to u where it divides by it.

#include "passes/optimizers/moments.h"

using namespace mlir;
using namespace gradus;

LogicalResult gradus::adamax(ParameterStep &step) {
  if (mlir::failed(checkBetas(step)))
    return failure();
  const Arithmetic &math = step.math;
  Value beta1 = step.beta(0, 0.9);
  Value first = newFirstMoment(step, step.gradient, beta1);
  Value kept = step.scale(step.beta(1, 0.999), step.readSlot("norm"));
  Value epsilon = step.number("epsilon", 1e-8);
  bool outside = step.settings.follows("mindspore");
  Value size = math.absolute(step.gradient);
  Value norm = math.larger(kept, outside ? size : step.shift(size, epsilon));
  step.writeSlot("norm", norm);
  if (outside)
    norm = step.shift(norm, epsilon);
  step.learningRate =
      math.divide(step.learningRate, biasCorrection(step, beta1));
  step.descend(math.divide(first, norm));
  return success();
}
