// sgd: gradient descent with momentum, as torch.optim.SGD.
//
//   v = momentum * v + (1 - dampening) * g     (v = g at the first step)
//   w = w - learning_rate * v                  (g + momentum * v if nesterov)
//
// With `dampens_first`, as in SINGA, the first gradient is dampened, too. Where
// ranks have added up the momentum before they sent it, none is added here.

#include "passes/optimizers/sgd.h"

using namespace mlir;
using namespace gradus;

/// The gradient's part in the velocity.
static Value dampened(ParameterStep &step, const SgdSettings &settings) {
  if (settings.dampening.initial == 0)
    return step.gradient;
  Value part = step.rest(step.number(settings.dampening));
  if (!settings.dampensFirst)
    part = step.math.select(step.isFirst(), step.scalar(1), part);
  return step.scale(part, step.gradient);
}

Velocity gradus::nextVelocity(const Arithmetic &math, Value factor,
                              bool nesterov, Value old, Value gradient,
                              Value part) {
  Value spread = spreadLike(math, factor, old);
  Value kept = math.add(math.multiply(spread, old), part ? part : gradient);
  if (!nesterov)
    return {kept, kept};
  return {kept, math.add(gradient, math.multiply(spread, kept))};
}

LogicalResult gradus::moveBySgd(ParameterStep &step,
                                const SgdSettings &settings) {
  bool hasMomentum = settings.momentum.initial != 0;
  if (settings.nesterov && !hasMomentum)
    return step.error("nesterov")
           << "is true, but momentum is 0; it looks ahead along the momentum";
  Value momentum = step.number(settings.momentum);
  if (!hasMomentum || step.hasMomentum) {
    step.descend(step.gradient);
    return success();
  }
  Value old = step.readSlot("momentum");
  Velocity velocity = nextVelocity(step.math, momentum, settings.nesterov, old,
                                   step.gradient, dampened(step, settings));
  step.writeSlot("momentum", velocity.kept);
  step.descend(velocity.direction);
  return success();
}

recipe::Fields gradus::sgdKeys(std::string_view rate) {
  using S = SgdSettings;
  using enum recipe::Kind;
  recipe::Field dampening = {"dampening", number, "0.0",
                             "part of the gradient kept out of the velocity"};
  return {learningRate(rate),
          momentum("0.0").into(&S::momentum),
          dampening.into(&S::dampening),
          flag("dampens_first", "the first gradient is dampened, too")
              .under({"singa"}, "true")
              .into(&S::dampensFirst),
          nesterov().into(&S::nesterov),
          weightDecay("0.0")};
}

Optimizer gradus::sgd() {
  return optimizer<SgdSettings>("sgd", sgdKeys("0.001"), moveBySgd);
}
