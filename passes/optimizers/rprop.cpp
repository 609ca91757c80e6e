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

namespace {

struct RpropSettings {
  std::array<double, 2> factors, sizes;
};

LogicalResult move(ParameterStep &step, const RpropSettings &settings) {
  const Arithmetic &math = step.math;
  auto [factors, sizes] = settings;
  if (step.decays())
    return recipe::keyError(step.program, step.settings.weightDecay.path)
           << "is not 0, but rprop looks at signs of gradients alone";
  double initial = step.settings.learningRate.initial;
  if (step.settings.isSingle)
    initial = static_cast<float>(initial);
  initial *= step.learningRateFactor;
  Value agreement =
      math.multiply(step.gradient, step.readSlot("last_gradient"));
  Value zero = step.spread(0.0);
  Value differs = math.less(agreement, zero);
  Value factor =
      math.select(differs, step.spread(factors[0]),
                  math.select(math.less(zero, agreement),
                              step.spread(factors[1]), step.spread(1)));
  Value old = step.readSlot("size", initial);
  if (step.states.isSettable()) { // The rate may have been set by now.
    Value rate = math.multiply(step.plain(step.settings.learningRate),
                               step.scalar(step.learningRateFactor));
    Value begins = broadcastScalar(math.builder, math.loc, step.isFirst(),
                                   tensorType(step.parameter).getShape());
    old = math.select(begins, step.spread(rate), old);
  }
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

} // namespace

Optimizer gradus::rprop() {
  using S = RpropSettings;
  Optimizer made =
      optimizer<S>("rprop",
                   {learningRate("0.01"),
                    numbers("factors", "[0.5, 1.2]",
                            "by which step sizes shrink and grow", 2)
                        .into(&S::factors),
                    numbers("sizes", "[1e-6, 50.0]",
                            "the minimum and the maximum step size", 2)
                        .into(&S::sizes)},
                   move);
  made.couplesDecay = false;
  return made;
}
