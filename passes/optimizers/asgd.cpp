// asgd: descent with a falling rate, and the mean of the parameters beside
// them, as torch.optim.ASGD. Polyak and Juditsky, 1992.
//
//   e(t) = learning_rate / (1 + lambda * learning_rate * t)^power
//   w = (1 - lambda * e(t - 1)) * w - e(t - 1) * g      (e(0) = learning_rate)
//   a = a + (w - a) / max(1, t - 1 - start)

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

namespace {

struct AsgdSettings {
  recipe::Number lambda, power, start;
};

LogicalResult move(ParameterStep &step, const AsgdSettings &settings) {
  const Arithmetic &math = step.math;
  Value lambda = step.number(settings.lambda);
  Value before = math.subtract(step.stepNumber, step.scalar(1));
  Value slower =
      math.add(step.scalar(1),
               math.multiply(math.multiply(lambda, step.learningRate), before));
  Value rate = math.divide(step.learningRate,
                           math.power(slower, step.number(settings.power)));
  Value kept =
      step.scale(step.rest(math.multiply(lambda, rate)), step.parameter);
  Value parameter = math.subtract(kept, step.scale(rate, step.gradient));
  step.writeParameter(parameter);
  Value count = math.larger(step.scalar(1),
                            math.subtract(before, step.number(settings.start)));
  Value old = step.readSlot("average");
  Value change = step.scale(math.divide(step.scalar(1), count),
                            math.subtract(parameter, old));
  step.writeSlot("average", math.add(old, change));
  return success();
}

} // namespace

Optimizer gradus::asgd() {
  using S = AsgdSettings;
  return optimizer<S>(
      "asgd",
      {learningRate("0.01"),
       amount("lambda", "0.0001", "decay of the parameters").into(&S::lambda),
       amount("power", "0.75", "how the learning rate falls").into(&S::power),
       amount("start", "1e6", "step from which on to average").into(&S::start),
       weightDecay("0.0")},
      move);
}
