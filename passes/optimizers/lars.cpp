// lars: momentum descent with a learning rate for each parameter by its norm,
// as timm.optim.Lars. You et al., https://arxiv.org/abs/1708.03888.
//
//   r = trust_coefficient * |w| / (|g| + weight_decay * |w| + epsilon)
//   g = r * (g + weight_decay * w), then as sgd without decay
//
// r is 1 where a norm is 0, min(r / learning_rate, 1) with `trust_clip`, and
// left out without weight decay unless `always_adapt`.

#include "passes/optimizers/trust.h"

using namespace mlir;
using namespace gradus;

static Value trustRatio(const ParameterStep &step) {
  const Arithmetic &math = step.math;
  Norms norms = normsOf(step, step.gradient);
  Value length = math.add(
      math.add(norms.move,
               math.multiply(step.number("weight_decay", 0), norms.parameter)),
      step.number("epsilon", 1e-8));
  Value ratio = math.divide(
      math.multiply(step.number("trust_coefficient", 0.001), norms.parameter),
      length);
  ratio = orOne(step, norms, ratio);
  if (step.settings.flag("trust_clip", false))
    ratio = math.smaller(math.divide(ratio, step.learningRate), step.scalar(1));
  return ratio;
}

LogicalResult gradus::lars(ParameterStep &step) {
  if (adapts(step, 0)) {
    Value ratio = trustRatio(step);
    Value pull = step.scale(step.number("weight_decay", 0), step.parameter);
    step.gradient = step.scale(ratio, step.math.add(step.gradient, pull));
  }
  return sgd(step);
}
