// rprop: a step size for each element, by the signs of its gradients alone, as
// torch.optim.Rprop. Riedmiller and Braun, 1993. For whole batches.
//
//   f = growth if g agrees with the last gradient, shrink if it does not, or 1
//   s = clamp(f * s)                               (starts at learning_rate)
//   g = 0 where it does not agree
//   w = w - sign(g) * s

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

LogicalResult gradus::rprop(ParameterStep &step) {
  const Arithmetic &math = step.math;
  SmallVector<double> factors = step.settings.numbers("factors", {0.5, 1.2});
  SmallVector<double> sizes = step.settings.numbers("sizes", {1e-6, 50});
  if (factors.size() != 2 || sizes.size() != 2)
    return step.settings.error(factors.size() != 2 ? "factors" : "sizes")
           << "expected 2 numbers";
  if (step.settings.number("weight_decay", 0) != 0)
    return step.settings.error("weight_decay")
           << "is not 0, but rprop looks at signs of gradients alone";
  double initial = step.settings.number("learning_rate", 0.01) *
                   step.settings.learningRateFactor();
  Value agreement =
      math.multiply(step.gradient, step.readSlot("last_gradient"));
  Value zero = step.spread(0.0);
  Value differs = math.less(agreement, zero);
  Value factor =
      math.select(differs, step.spread(factors[0]),
                  math.select(math.less(zero, agreement),
                              step.spread(factors[1]), step.spread(1)));
  Value old = step.readSlot("size", initial);
  Value size = math.smaller(
      math.larger(math.multiply(old, factor), step.spread(sizes[0])),
      step.spread(sizes[1]));
  Value gradient = math.select(differs, zero, step.gradient);
  step.writeSlot("size", size);
  step.writeSlot("last_gradient", gradient);
  step.writeParameter(
      math.subtract(step.parameter, math.multiply(math.sign(gradient), size)));
  return success();
}
