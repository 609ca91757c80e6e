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
                                 Value beta2, Value epsilon) {
  const Arithmetic &math = step.math;
  Value correction =
      math.divide(step.scalar(1), math.squareRoot(biasCorrection(step, beta2)));
  return step.shift(step.scale(correction, math.squareRoot(second)), epsilon);
}
