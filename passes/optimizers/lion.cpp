// lion: steps of one size in every element, by the sign of a momentum. Chen et
// al., https://arxiv.org/abs/2302.06675.
//
//   w = w * (1 - learning_rate * weight_decay)
//   w = w - learning_rate * sign(beta1 * m + (1 - beta1) * g)
//   m = beta2 * m + (1 - beta2) * g

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

namespace {

struct LionSettings {
  Betas betas;
};

LogicalResult move(ParameterStep &step, const LionSettings &settings) {
  step.decay();
  Value old = step.readSlot("momentum");
  Value mixed = step.average(step.beta(settings.betas, 0), old, step.gradient);
  step.writeSlot("momentum", step.average(step.beta(settings.betas, 1), old,
                                          step.gradient));
  step.descend(step.cautious(step.math.sign(mixed)));
  return success();
}

} // namespace

Optimizer gradus::lion() {
  recipe::Fields keys = {learningRate("0.0001"),
                         betas("[0.9, 0.99]").into(&LionSettings::betas),
                         weightDecay("0.0")};
  Optimizer made = optimizer<LionSettings>("lion", keys + careful(), move);
  made.couplesDecay = false;
  return made;
}
