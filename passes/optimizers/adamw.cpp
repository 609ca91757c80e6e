// adamw: adam whose weight decay does not pass through the moments, as
// torch.optim.AdamW. Loshchilov and Hutter, https://arxiv.org/abs/1711.05101.
//
//   w = w * (1 - learning_rate * weight_decay), then as adam without decay
//
// Without `bias_correction`, as MindSpore's nn.AdamWeightDecay:
//
//   w = w - learning_rate * (m / (sqrt(v) + epsilon) + weight_decay * w)

#include "passes/optimizers/adam.h"

using namespace mlir;
using namespace gradus;

namespace {

struct AdamwSettings {
  bool correctsBias = true;
};

LogicalResult moveWithoutCorrection(ParameterStep &step,
                                    const AdamSettings &settings) {
  const Arithmetic &math = step.math;
  Value first =
      newFirstMoment(step, step.gradient, step.beta(settings.betas, 0));
  Value second =
      newSecondMoment(step, step.gradient, step.beta(settings.betas, 1));
  Value divisor =
      step.shift(math.squareRoot(second), step.number(settings.epsilon));
  Value direction = math.divide(first, divisor);
  if (step.decays())
    direction =
        math.add(direction, step.scale(step.number(step.settings.weightDecay),
                                       step.parameter));
  step.descend(direction);
  return success();
}

LogicalResult move(ParameterStep &step, const recipe::Value &own) {
  if (!own.as<AdamwSettings>().correctsBias)
    return moveWithoutCorrection(step, own.as<AdamSettings>());
  step.decay();
  return moveByAdam(step, own.as<AdamSettings>());
}

} // namespace

Optimizer gradus::adamw() {
  recipe::Field corrects = {"bias_correction", recipe::Kind::boolean, "true",
                            "make up for moments that start at zero"};
  recipe::Fields keys =
      adamKeys("0.01") +
      recipe::Fields{corrects.under({"mindspore"}, "false")
                         .into(&AdamwSettings::correctsBias)} +
      commonKeys();
  return {"adamw", keys, move, /*couplesDecay=*/false};
}
