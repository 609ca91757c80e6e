// lars: momentum descent with a learning rate for each parameter by its norm,
// as timm.optim.Lars. You et al., https://arxiv.org/abs/1708.03888.
//
//   r = trust_coefficient * |w| / (|g| + weight_decay * |w| + epsilon)
//   g = r * (g + weight_decay * w), then as sgd without decay
//
// r is 1 where a norm is 0, min(r / learning_rate, 1) with `trust_clip`, and
// left out without weight decay unless `always_adapt`.

#include "passes/optimizers/sgd.h"
#include "passes/optimizers/trust.h"

using namespace mlir;
using namespace gradus;

namespace {

struct LarsSettings {
  recipe::Number trustCoefficient, epsilon;
  bool clipsTrust = false, adaptsAlways = false;
};

Value trustRatio(ParameterStep &step, const LarsSettings &settings) {
  const Arithmetic &math = step.math;
  Norms norms = normsOf(step, step.gradient);
  Value length = math.add(
      math.add(norms.move, math.multiply(step.number(step.settings.weightDecay),
                                         norms.parameter)),
      step.number(settings.epsilon));
  Value ratio = math.divide(
      math.multiply(step.number(settings.trustCoefficient), norms.parameter),
      length);
  ratio = orOne(step, norms, ratio);
  if (settings.clipsTrust)
    ratio = math.smaller(math.divide(ratio, step.learningRate), step.scalar(1));
  return ratio;
}

LogicalResult move(ParameterStep &step, const recipe::Value &own) {
  auto settings = own.as<LarsSettings>();
  if (step.decays() || settings.adaptsAlways) {
    Value ratio = trustRatio(step, settings);
    Value pull =
        step.scale(step.number(step.settings.weightDecay), step.parameter);
    step.gradient = step.scale(ratio, step.math.add(step.gradient, pull));
  }
  return moveBySgd(step, own.as<SgdSettings>());
}

} // namespace

Optimizer gradus::lars() {
  using S = LarsSettings;
  recipe::Fields keys =
      sgdKeys("1.0") +
      recipe::Fields{
          amount("trust_coefficient", "0.001",
                 "length of a step as part of the parameter's")
              .into(&S::trustCoefficient),
          epsilon("1e-8").into(&S::epsilon),
          flag("trust_clip", "the ratio over the learning rate is at most 1")
              .into(&S::clipsTrust),
          alwaysAdapt().into(&S::adaptsAlways)} +
      commonKeys();
  return {"lars", keys, move, /*couplesDecay=*/false};
}
