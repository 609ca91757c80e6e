// Trust ratios; see trust.h.

#include "passes/optimizers/trust.h"

using namespace mlir;
using namespace gradus;

Norms gradus::normsOf(const ParameterStep &step, Value move) {
  const Arithmetic &math = step.math;
  auto wide = [&](Value value) {
    return convert(math.builder, math.loc, math.norm(value),
                   math.builder.getF64Type());
  };
  return {wide(step.parameter), wide(move)};
}

Value gradus::orOne(const ParameterStep &step, const Norms &norms,
                    Value ratio) {
  const Arithmetic &math = step.math;
  Value smaller = math.smaller(norms.parameter, norms.move);
  return math.select(math.less(step.scalar(0), smaller), ratio, step.scalar(1));
}

recipe::Field gradus::alwaysAdapt() {
  return flag("always_adapt", "scale also what has no weight decay");
}
