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

namespace {

struct LambSettings {
  Betas betas;
  recipe::Number epsilon;
  bool correctsBias = true, averagesGradient = true;
  bool clipsTrust = false, adaptsAlways = false;
};

/// m; without `gradient_averaging` the whole gradient enters it.
Value newMoment(ParameterStep &step, const LambSettings &settings,
                Value beta1) {
  if (settings.averagesGradient)
    return newFirstMoment(step, step.gradient, beta1);
  Value kept = step.scale(beta1, step.readSlot("first_moment"));
  Value moment = step.math.add(kept, step.gradient);
  step.writeSlot("first_moment", moment);
  return moment;
}

/// u without the decay.
Value adamDirection(ParameterStep &step, const LambSettings &settings) {
  const Arithmetic &math = step.math;
  Value beta1 = step.beta(settings.betas, 0);
  Value beta2 = step.beta(settings.betas, 1);
  Value first = newMoment(step, settings, beta1);
  Value second = newSecondMoment(step, step.gradient, beta2);
  Value epsilon = step.number(settings.epsilon);
  if (!settings.correctsBias)
    return math.divide(first, step.shift(math.squareRoot(second), epsilon));
  Value correction = math.divide(step.scalar(1), biasCorrection(step, beta1));
  return math.divide(step.scale(correction, first),
                     correctedDeviation(step, second, beta2, epsilon));
}

LogicalResult move(ParameterStep &step, const LambSettings &settings) {
  const Arithmetic &math = step.math;
  Value direction = step.cautious(adamDirection(step, settings));
  if (step.settings.decouplesDecay)
    step.decay();
  else if (step.decays())
    direction =
        math.add(direction, step.scale(step.number(step.settings.weightDecay),
                                       step.parameter));
  if (step.decays() || settings.adaptsAlways) {
    Norms norms = normsOf(step, direction);
    Value ratio = orOne(step, norms, math.divide(norms.parameter, norms.move));
    if (settings.clipsTrust)
      ratio = math.smaller(ratio, step.scalar(1));
    step.learningRate = math.multiply(step.learningRate, ratio);
  }
  step.descend(direction);
  return success();
}

} // namespace

Optimizer gradus::lamb() {
  using S = LambSettings;
  using enum recipe::Kind;
  recipe::Field corrects = {"bias_correction", boolean, "true",
                            "make up for moments that start at zero"};
  recipe::Field averages = {
      "gradient_averaging", boolean, "true",
      "a new gradient enters the first moment by 1 - beta1"};
  recipe::Fields keys = {
      learningRate("0.001"),
      betas("[0.9, 0.999]").into(&S::betas),
      epsilon("1e-6").into(&S::epsilon),
      weightDecay("0.01"),
      corrects.into(&S::correctsBias),
      averages.into(&S::averagesGradient),
      flag("trust_clip", "ratios of norms are at most 1").into(&S::clipsTrust),
      alwaysAdapt().into(&S::adaptsAlways),
      decoupled()};
  Optimizer made = optimizer<S>("lamb", keys + careful(), move);
  made.couplesDecay = false;
  return made;
}
