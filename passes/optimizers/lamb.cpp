// lamb: adam whose move of each parameter is as long as the parameter times the
// learning rate, as timm.optim.Lamb. You et al.,
// https://arxiv.org/abs/1904.00962.
//
//   u = m / (1 - beta1^t) / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
//       + weight_decay * w
//   w = w - learning_rate * |w| / |u| * u
//
// with adam's m and v. The ratio is 1 where a norm is 0, at most 1 with
// `trust_clip`, and left out without weight decay unless `always_adapt`. With
// `decoupled_weight_decay`, w decays by itself before u, which has none.

#include "passes/optimizers/moments.h"
#include "passes/optimizers/trust.h"

using namespace mlir;
using namespace gradus;

/// m; without `gradient_averaging` the whole gradient enters it.
static Value newMoment(ParameterStep &step, Value beta1) {
  if (step.settings.flag("gradient_averaging", true))
    return newFirstMoment(step, step.gradient, beta1);
  Value kept = step.scale(beta1, step.readSlot("first_moment"));
  Value moment = step.math.add(kept, step.gradient);
  step.writeSlot("first_moment", moment);
  return moment;
}

/// u without the decay.
static Value adamDirection(ParameterStep &step) {
  const Arithmetic &math = step.math;
  Value beta1 = step.beta(0, 0.9), beta2 = step.beta(1, 0.999);
  Value first = newMoment(step, beta1);
  Value second = newSecondMoment(step, step.gradient, beta2);
  if (!step.settings.flag("bias_correction", true))
    return math.divide(first, step.shift(math.squareRoot(second),
                                         step.number("epsilon", 1e-6)));
  Value correction = math.divide(step.scalar(1), biasCorrection(step, beta1));
  return math.divide(step.scale(correction, first),
                     correctedDeviation(step, second, beta2, 1e-6));
}

LogicalResult gradus::lamb(ParameterStep &step) {
  if (mlir::failed(checkBetas(step)))
    return failure();
  const Arithmetic &math = step.math;
  Value direction = step.cautious(adamDirection(step));
  if (step.settings.flag("decoupled_weight_decay", false))
    step.decay(0.01);
  else if (step.settings.number("weight_decay", 0.01) != 0)
    direction =
        math.add(direction,
                 step.scale(step.number("weight_decay", 0.01), step.parameter));
  if (adapts(step, 0.01)) {
    Norms norms = normsOf(step, direction);
    Value ratio = orOne(step, norms, math.divide(norms.parameter, norms.move));
    if (step.settings.flag("trust_clip", false))
      ratio = math.smaller(ratio, step.scalar(1));
    step.learningRate = math.multiply(step.learningRate, ratio);
  }
  step.descend(direction);
  return success();
}
