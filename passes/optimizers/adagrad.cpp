// adagrad: steps by the gradient over the root of the sum of all its squares,
// as torch.optim.Adagrad. Duchi et al., JMLR 12, 2011.
//
//   s = s + g^2                                 (starts at initial_accumulator)
//   w = w - learning_rate / (1 + (t - 1) * learning_rate_decay)
//         * g / (sqrt(s) + epsilon)
//
// SINGA has epsilon inside the root, MindSpore has none: where all gradients
// were 0 so far, nothing moves.

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

LogicalResult gradus::adagrad(ParameterStep &step) {
  const Arithmetic &math = step.math;
  Value old = step.readSlot("sum_of_squares",
                            step.settings.number("initial_accumulator", 0));
  Value sum = math.add(old, math.multiply(step.gradient, step.gradient));
  step.writeSlot("sum_of_squares", sum);
  Value epsilon = step.number("epsilon", 1e-10);
  Value divisor = math.squareRoot(sum);
  if (step.settings.follows("singa"))
    divisor = math.squareRoot(step.shift(sum, epsilon));
  else if (!step.settings.follows("mindspore"))
    divisor = step.shift(divisor, epsilon);
  if (step.settings.number("learning_rate_decay", 0) != 0) {
    Value before = math.subtract(step.stepNumber, step.scalar(1));
    Value slower = math.multiply(before, step.number("learning_rate_decay", 0));
    step.learningRate =
        math.divide(step.learningRate, math.add(step.scalar(1), slower));
  }
  Value direction = math.divide(step.gradient, divisor);
  if (step.settings.follows("mindspore")) {
    Value zero = step.spread(0.0);
    Value isZero = arith::CmpFOp::create(
        math.builder, math.loc, arith::CmpFPredicate::OEQ, divisor, zero);
    direction = math.select(isZero, zero, direction);
  }
  step.descend(direction);
  return success();
}
