// adamw: adam whose weight decay does not pass through the moments, as
// torch.optim.AdamW. Loshchilov and Hutter, https://arxiv.org/abs/1711.05101.
//
//   w = w * (1 - learning_rate * weight_decay), then as adam without decay

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

LogicalResult gradus::adamw(ParameterStep &step) {
  const Arithmetic &math = step.math;
  double decay = step.settings.number("weight_decay", 0.01);
  if (decay == 0)
    return moveByMoments(step, step.parameter, step.gradient);
  Value kept = math.subtract(
      step.scalar(1), math.multiply(step.learningRate, step.scalar(decay)));
  return moveByMoments(step, math.multiply(step.parameter, step.spread(kept)),
                       step.gradient);
}
