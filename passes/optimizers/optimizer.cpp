// What update rules share: slots, scalars and coupled weight decay; see
// optimizer.h.

#include "passes/optimizers/optimizer.h"
#include "passes/state.h"

#include "mlir/IR/Matchers.h"

#include <cmath>

using namespace mlir;
using namespace gradus;

Value ParameterStep::powerOfStep(double base) const {
  if (base == 0)
    return scalar(0);
  return math.exponential(math.multiply(stepNumber, scalar(std::log(base))));
}

Value ParameterStep::spread(Value scalar) const {
  // arith folds no rounding that loses bits, but it is the one we want here.
  if (SplatElementsAttr known; matchPattern(scalar, m_Constant(&known)))
    return spread(known.getSplatValue<FloatAttr>().getValueAsDouble());
  auto type = tensorType(parameter);
  Value rounded =
      convert(math.builder, math.loc, scalar, type.getElementType());
  return broadcastScalar(math.builder, math.loc, rounded, type.getShape());
}

Value ParameterStep::readSlot(StringRef slot) {
  std::string state = optimizer + "/" + slot.str() + "/" + name;
  if (failed(ensureState(program, state, tensorType(parameter), Role::slot)))
    nameClash = true;
  return readState(math.builder, math.loc, state, tensorType(parameter));
}

void ParameterStep::writeSlot(StringRef slot, Value value) {
  writeState(math.builder, math.loc, optimizer + "/" + slot.str() + "/" + name,
             value);
}

void ParameterStep::writeParameter(Value value) {
  writeState(math.builder, math.loc, name, value);
}

Value gradus::decayedGradient(const ParameterStep &step) {
  double decay = step.settings.number("weight_decay", 0.0);
  if (decay == 0)
    return step.gradient;
  Value pull = step.math.multiply(step.spread(decay), step.parameter);
  return step.math.add(step.gradient, pull);
}
