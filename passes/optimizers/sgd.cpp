// sgd: gradient descent with momentum, as torch.optim.SGD.
//
//   v = momentum * v + (1 - dampening) * g     (v = g at the first step)
//   w = w - learning_rate * v                  (g + momentum * v if nesterov)
//
// SINGA dampens the first gradient, too.

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

/// The gradient's part in the velocity. The first gradient is not dampened.
static Value dampened(const ParameterStep &step) {
  if (step.settings.number("dampening", 0.0) == 0)
    return step.gradient;
  Value part = step.rest(step.number("dampening", 0.0));
  if (!step.settings.follows("singa"))
    part = step.math.select(step.isFirst(), step.scalar(1), part);
  return step.scale(part, step.gradient);
}

static Value newVelocity(ParameterStep &step, Value momentum) {
  Value kept = step.scale(momentum, step.readSlot("momentum"));
  Value velocity = step.math.add(kept, dampened(step));
  step.writeSlot("momentum", velocity);
  return velocity;
}

LogicalResult gradus::sgd(ParameterStep &step) {
  bool nesterov = step.settings.flag("nesterov", false);
  bool hasMomentum = step.settings.number("momentum", 0.0) != 0;
  if (nesterov && !hasMomentum)
    return step.settings.error("nesterov")
           << "is true, but momentum is 0; it looks ahead along the momentum";
  Value direction = step.gradient;
  Value momentum = step.number("momentum", 0.0);
  if (hasMomentum)
    direction = newVelocity(step, momentum);
  if (nesterov)
    direction = step.math.add(step.gradient, step.scale(momentum, direction));
  step.descend(direction);
  return success();
}
