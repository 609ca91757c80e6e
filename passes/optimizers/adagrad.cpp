// adagrad: steps by the gradient over the root of the sum of all its squares,
// as torch.optim.Adagrad. Duchi et al., JMLR 12, 2011.
//
//   s = s + g^2                                 (starts at initial_accumulator)
//   w = w - learning_rate / (1 + (t - 1) * learning_rate_decay)
//         * g / (sqrt(s) + epsilon)
//
// `epsilon_place` moves epsilon into the root, as SINGA has it, or leaves it
// out, as MindSpore does: where all gradients were 0 so far, nothing moves.

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

namespace {

enum class EpsilonPlace { outside, inside, none };

struct AdagradSettings {
  recipe::Number learningRateDecay, epsilon;
  double initialAccumulator = 0;
  EpsilonPlace place = EpsilonPlace::outside;
};

LogicalResult move(ParameterStep &step, const AdagradSettings &settings) {
  const Arithmetic &math = step.math;
  Value old = step.readSlot("sum_of_squares", settings.initialAccumulator);
  Value sum = math.add(old, math.multiply(step.gradient, step.gradient));
  step.writeSlot("sum_of_squares", sum);
  Value epsilon = step.number(settings.epsilon);
  Value divisor = math.squareRoot(sum);
  if (settings.place == EpsilonPlace::inside)
    divisor = math.squareRoot(step.shift(sum, epsilon));
  else if (settings.place == EpsilonPlace::outside)
    divisor = step.shift(divisor, epsilon);
  if (settings.learningRateDecay.initial != 0) {
    Value before = math.subtract(step.stepNumber, step.scalar(1));
    Value slower =
        math.multiply(before, step.number(settings.learningRateDecay));
    step.learningRate =
        math.divide(step.learningRate, math.add(step.scalar(1), slower));
  }
  Value direction = math.divide(step.gradient, divisor);
  if (settings.place == EpsilonPlace::none) {
    Value zero = step.spread(0.0);
    Value isZero = arith::CmpFOp::create(
        math.builder, math.loc, arith::CmpFPredicate::OEQ, divisor, zero);
    direction = math.select(isZero, zero, direction);
  }
  step.descend(direction);
  return success();
}

} // namespace

Optimizer gradus::adagrad() {
  using S = AdagradSettings;
  recipe::Field place = {"epsilon_place", recipe::Kind::choice, "\"outside\"",
                         "of the root: outside, inside, or none"};
  return optimizer<S>(
      "adagrad",
      {learningRate("0.01"),
       amount("learning_rate_decay", "0.0", "how much slower each step is")
           .into(&S::learningRateDecay),
       epsilon("1e-10").into(&S::epsilon),
       place.among({{"outside"}, {"inside"}, {"none"}})
           .under({"singa"}, "\"inside\"")
           .under({"mindspore"}, "\"none\"")
           .into(&S::place),
       amount("initial_accumulator", "0.0",
              "what the sum of squares starts from")
           .into(&S::initialAccumulator),
       weightDecay("0.0")},
      move);
}
