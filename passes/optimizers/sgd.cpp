// sgd: gradient descent with momentum, as torch.optim.SGD.
//
//   g = gradient + weight_decay * w
//   v = momentum * v + (1 - dampening) * g     (v = g at the first step)
//   w = w - learning_rate * v                  (g + momentum * v if nesterov)

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

/// The gradient's part in the velocity. The first gradient is not dampened.
static Value dampened(const ParameterStep &step, Value gradient) {
  double dampening = step.settings.number("dampening", 0.0);
  if (dampening == 0)
    return gradient;
  Value first = step.math.less(step.stepNumber, step.scalar(1.5));
  Value part =
      step.math.select(first, step.scalar(1), step.scalar(1 - dampening));
  return step.math.multiply(step.spread(part), gradient);
}

static Value newVelocity(ParameterStep &step, Value gradient, double momentum) {
  const Arithmetic &math = step.math;
  Value kept = math.multiply(step.spread(momentum), step.readSlot("momentum"));
  Value velocity = math.add(kept, dampened(step, gradient));
  step.writeSlot("momentum", velocity);
  return velocity;
}

LogicalResult gradus::sgd(ParameterStep &step) {
  const Arithmetic &math = step.math;
  double momentum = step.settings.number("momentum", 0.0);
  bool nesterov = step.settings.flag("nesterov", false);
  if (nesterov && momentum == 0)
    return step.settings.error("nesterov")
           << "is true, but momentum is 0; it looks ahead along the momentum";
  Value gradient = decayedGradient(step);
  Value direction = gradient;
  if (momentum != 0)
    direction = newVelocity(step, gradient, momentum);
  if (nesterov)
    direction =
        math.add(gradient, math.multiply(step.spread(momentum), direction));
  Value move = math.multiply(step.spread(step.learningRate), direction);
  step.writeParameter(math.subtract(step.parameter, move));
  return success();
}
