// adamax: adam by the largest gradient instead of the mean square, as
// torch.optim.Adamax. Kingma and Ba, https://arxiv.org/abs/1412.6980,
// section 7.
//
//   m = m + (1 - beta1) * (g - m)
//   u = max(beta2 * u, |g| + epsilon)
//   w = w - learning_rate / (1 - beta1^t) * m / u
//
// With `epsilon_place` of the division, as in MindSpore, epsilon is added to u
// where it divides.

#include "passes/optimizers/moments.h"

using namespace mlir;
using namespace gradus;

namespace {

enum class EpsilonPlace { gradient, division };

struct AdamaxSettings {
  Betas betas;
  recipe::Number epsilon;
  EpsilonPlace place = EpsilonPlace::gradient;
};

LogicalResult move(ParameterStep &step, const AdamaxSettings &settings) {
  const Arithmetic &math = step.math;
  Value beta1 = step.beta(settings.betas, 0);
  Value first = newFirstMoment(step, step.gradient, beta1);
  Value kept = step.scale(step.beta(settings.betas, 1), step.readSlot("norm"));
  Value epsilon = step.number(settings.epsilon);
  bool outside = settings.place == EpsilonPlace::division;
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

} // namespace

Optimizer gradus::adamax() {
  using S = AdamaxSettings;
  recipe::Field place = {"epsilon_place", recipe::Kind::choice, "\"gradient\"",
                         "added to the gradient's size, or in the division"};
  return optimizer<S>("adamax",
                      {learningRate("0.002"),
                       betas("[0.9, 0.999]").into(&S::betas),
                       epsilon("1e-8").into(&S::epsilon),
                       place.among({{"gradient"}, {"division"}})
                           .under({"mindspore"}, "\"division\"")
                           .into(&S::place),
                       weightDecay("0.0")},
                      move);
}
