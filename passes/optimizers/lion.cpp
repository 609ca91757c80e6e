// lion: steps of one size in every element, by the sign of a momentum. Chen et
// al., https://arxiv.org/abs/2302.06675.
//
//   w = w * (1 - learning_rate * weight_decay)
//   w = w - learning_rate * sign(beta1 * m + (1 - beta1) * g)
//   m = beta2 * m + (1 - beta2) * g

#include "passes/optimizers/moments.h"

using namespace mlir;
using namespace gradus;

LogicalResult gradus::lion(ParameterStep &step) {
  if (mlir::failed(checkBetas(step)))
    return failure();
  step.decay(0);
  Value old = step.readSlot("momentum");
  Value mixed = step.average(step.beta(0, 0.9), old, step.gradient);
  step.writeSlot("momentum",
                 step.average(step.beta(1, 0.99), old, step.gradient));
  step.descend(step.cautious(step.math.sign(mixed)));
  return success();
}
