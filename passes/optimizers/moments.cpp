// Moments of a gradient; see moments.h.

#include "passes/optimizers/moments.h"

using namespace mlir;
using namespace gradus;

Value gradus::newFirstMoment(ParameterStep &step, Value gradient, Value beta) {
  Value moment = step.approach(beta, step.readSlot("first_moment"), gradient);
  step.writeSlot("first_moment", moment);
  return moment;
}

Value gradus::newSecondMoment(ParameterStep &step, Value gradient, Value beta) {
  const Arithmetic &math = step.math;
  Value kept = step.scale(beta, step.readSlot("second_moment"));
  Value part = step.scale(step.rest(beta), gradient);
  Value moment = math.add(kept, math.multiply(part, gradient));
  step.writeSlot("second_moment", moment);
  return moment;
}

Value gradus::biasCorrection(const ParameterStep &step, Value beta) {
  return step.rest(step.powerOfStep(beta));
}

Value gradus::correctedDeviation(const ParameterStep &step, Value second,
                                 Value beta2, double epsilon) {
  const Arithmetic &math = step.math;
  Value correction =
      math.divide(step.scalar(1), math.squareRoot(biasCorrection(step, beta2)));
  Value deviation = step.scale(correction, math.squareRoot(second));
  // SINGA never looks at the schedule of its Adam's epsilon again.
  bool stays = step.settings.follows("singa");
  return step.shift(
      deviation, stays ? step.scalar(step.settings.number("epsilon", epsilon))
                       : step.number("epsilon", epsilon));
}

LogicalResult gradus::checkBetas(const ParameterStep &step) {
  size_t count = step.settings.numbers("betas", {0.9, 0.999}).size();
  if (count == 2)
    return success();
  return step.settings.error("betas")
         << "has " << count << " numbers, expected 2";
}

FailureOr<Betas> gradus::decayAndTakeBetas(ParameterStep &step) {
  if (mlir::failed(checkBetas(step)))
    return failure();
  if (step.settings.flag("decoupled_weight_decay", false))
    step.decay(0);
  return Betas{step.beta(0, 0.9), step.beta(1, 0.999)};
}
