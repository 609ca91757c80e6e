// asgd: descent with a falling rate, and the mean of the parameters beside
// them, as torch.optim.ASGD. Polyak and Juditsky, 1992.
//
//   e(t) = learning_rate / (1 + lambda * learning_rate * t)^power
//   w = (1 - lambda * e(t - 1)) * w - e(t - 1) * g      (e(0) = learning_rate)
//   a = a + (w - a) / max(1, t - 1 - start)

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

LogicalResult gradus::asgd(ParameterStep &step) {
  const Arithmetic &math = step.math;
  Value lambda = step.number("lambda", 1e-4);
  Value before = math.subtract(step.stepNumber, step.scalar(1));
  Value slower =
      math.add(step.scalar(1),
               math.multiply(math.multiply(lambda, step.learningRate), before));
  Value rate = math.divide(step.learningRate,
                           math.power(slower, step.number("power", 0.75)));
  Value kept =
      step.scale(step.rest(math.multiply(lambda, rate)), step.parameter);
  Value parameter = math.subtract(kept, step.scale(rate, step.gradient));
  step.writeParameter(parameter);
  Value count = math.larger(step.scalar(1),
                            math.subtract(before, step.number("start", 1e6)));
  Value old = step.readSlot("average");
  Value change = step.scale(math.divide(step.scalar(1), count),
                            math.subtract(parameter, old));
  step.writeSlot("average", math.add(old, change));
  return success();
}
