// adamw: adam whose weight decay does not pass through the moments, as
// torch.optim.AdamW. Loshchilov and Hutter, https://arxiv.org/abs/1711.05101.
//
//   w = w * (1 - learning_rate * weight_decay), then as adam without decay
//
// MindSpore's (nn.AdamWeightDecay) does not correct the moments' bias:
//
//   w = w - learning_rate * (m / (sqrt(v) + epsilon) + weight_decay * w)

#include "passes/optimizers/moments.h"

using namespace mlir;
using namespace gradus;

static LogicalResult moveWithoutCorrection(ParameterStep &step) {
  if (mlir::failed(checkBetas(step)))
    return failure();
  const Arithmetic &math = step.math;
  Value first = newFirstMoment(step, step.gradient, step.beta(0, 0.9));
  Value second = newSecondMoment(step, step.gradient, step.beta(1, 0.999));
  Value divisor =
      step.shift(math.squareRoot(second), step.number("epsilon", 1e-8));
  Value direction = math.divide(first, divisor);
  if (step.settings.number("weight_decay", 0.01) != 0)
    direction =
        math.add(direction,
                 step.scale(step.number("weight_decay", 0.01), step.parameter));
  step.descend(direction);
  return success();
}

LogicalResult gradus::adamw(ParameterStep &step) {
  if (step.settings.follows("mindspore"))
    return moveWithoutCorrection(step);
  step.decay(0.01);
  return adam(step);
}
