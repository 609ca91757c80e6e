// adam: steps of the size of the learning rate, by the gradient's moments, as
// torch.optim.Adam. Kingma and Ba, https://arxiv.org/abs/1412.6980.
//
//   m = m + (1 - beta1) * (g - m)
//   v = beta2 * v + (1 - beta2) * g^2          (amsgrad: the largest v so far)
//   w = w - learning_rate / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) +
//   epsilon)
//
// With `epsilon_place` of the uncorrected root, as in MindSpore, epsilon is
// added to sqrt(v) itself. With `nesterov` the next step's moment beta1 * m +
// (1 - beta1) * g takes the place of m.

#include "passes/optimizers/adam.h"

using namespace mlir;
using namespace gradus;

/// The largest second moment of each element so far.
static Value largestSoFar(ParameterStep &step, Value second) {
  Value largest = step.math.larger(step.readSlot("largest_moment"), second);
  step.writeSlot("largest_moment", largest);
  return largest;
}

LogicalResult gradus::moveByAdam(ParameterStep &step,
                                 const AdamSettings &settings) {
  const Arithmetic &math = step.math;
  Value beta1 = step.beta(settings.betas, 0);
  Value beta2 = step.beta(settings.betas, 1);
  Value first = newFirstMoment(step, step.gradient, beta1);
  Value second = newSecondMoment(step, step.gradient, beta2);
  if (settings.amsgrad)
    second = largestSoFar(step, second);
  if (settings.nesterov)
    first = step.average(beta1, first, step.gradient);
  Value size = math.divide(step.learningRate, biasCorrection(step, beta1));
  Value divisor;
  Value epsilon = settings.schedulesEpsilon ? step.number(settings.epsilon)
                                            : step.plain(settings.epsilon);
  if (settings.place == EpsilonPlace::uncorrected) {
    size = math.multiply(size, math.squareRoot(biasCorrection(step, beta2)));
    divisor = step.shift(math.squareRoot(second), epsilon);
  } else {
    divisor = correctedDeviation(step, second, beta2, epsilon);
  }
  Value move = step.scale(size, math.divide(first, divisor));
  step.writeParameter(math.subtract(step.parameter, move));
  return success();
}

recipe::Fields gradus::adamKeys(std::string_view decay) {
  using S = AdamSettings;
  using enum recipe::Kind;
  recipe::Field place = {"epsilon_place", choice, "\"corrected\"",
                         "the root of the second moment that it is added to"};
  recipe::Field scheduled = {"scheduled_epsilon", boolean, "true",
                             "epsilon follows its schedule"};
  return {learningRate("0.001"),
          betas("[0.9, 0.999]").into(&S::betas),
          epsilon("1e-8").into(&S::epsilon),
          place.among({{"corrected"}, {"uncorrected"}})
              .under({"mindspore"}, "\"uncorrected\"")
              .into(&S::place),
          scheduled.under({"singa"}, "false").into(&S::schedulesEpsilon),
          weightDecay(decay),
          flag("amsgrad", "divide by the largest second moment so far")
              .into(&S::amsgrad),
          nesterov().into(&S::nesterov)};
}

Optimizer gradus::adam() {
  return optimizer<AdamSettings>("adam", adamKeys("0.0"), moveByAdam);
}
