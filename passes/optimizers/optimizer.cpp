// The table of optimizers, and what update rules share; see optimizer.h.

#include "passes/optimizers/optimizer.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace gradus;

static const Optimizer optimizers[] = {{"sgd", sgd},
                                       {"adam", adam},
                                       {"adamw", adamw, false},
                                       {"adamax", adamax},
                                       {"nadam", nadam},
                                       {"radam", radam},
                                       {"rmsprop", rmsprop},
                                       {"adagrad", adagrad},
                                       {"adadelta", adadelta},
                                       {"adafactor", adafactor, false},
                                       {"asgd", asgd},
                                       {"rprop", rprop, false},
                                       {"lamb", lamb, false},
                                       {"lars", lars, false},
                                       {"lion", lion, false},
                                       {"muon", muon, false}};

const Optimizer *gradus::findOptimizer(const ParameterSettings &settings) {
  std::string type = settings.type();
  SmallVector<StringRef> names;
  for (const Optimizer &optimizer : optimizers) {
    if (optimizer.name == type)
      return &optimizer;
    names.push_back(optimizer.name);
  }
  settings.error("type") << "is \"" << type << "\", expected one of: "
                         << nearestFirst(type, names);
  return nullptr;
}

bool gradus::couplesDecay(const ParameterSettings &settings,
                          const Optimizer &optimizer) {
  return optimizer.couplesDecay &&
         !settings.flag("decoupled_weight_decay", false);
}

//===-- numbers -----------------------------------------------------------===//

static Value scheduled(const ParameterStep &step, StringRef key, double value) {
  Value number = step.scalar(value);
  Value factor = step.schedules.factorOf(key);
  return factor ? step.math.multiply(factor, number) : number;
}

Value ParameterStep::number(StringRef key, double otherwise) const {
  return scheduled(*this, key, settings.number(key, otherwise));
}

Value ParameterStep::beta(unsigned index, double otherwise) const {
  SmallVector<double> betas = settings.numbers("betas", {});
  double value = index < betas.size() ? betas[index] : otherwise;
  if (settings.keepsSingle())
    value = static_cast<float>(value);
  return scheduled(*this, index == 0 ? "beta1" : "beta2", value);
}

Value ParameterStep::powerOfStep(Value base) const {
  return math.power(base, stepNumber);
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

Value ParameterStep::average(Value rate, Value old, Value value) const {
  return math.add(scale(rate, old), scale(rest(rate), value));
}

Value ParameterStep::approach(Value rate, Value old, Value value) const {
  Value way = math.subtract(value, old);
  SplatElementsAttr known;
  if (matchPattern(rate, m_Constant(&known)) &&
      known.getSplatValue<FloatAttr>().getValueAsDouble() <= 0.5)
    return math.subtract(value, scale(rate, way));
  return math.add(old, scale(rest(rate), way));
}

Value ParameterStep::cautious(Value move) const {
  if (!settings.flag("cautious", false))
    return move;
  Value zero = spread(0.0);
  Value agrees = math.less(zero, math.multiply(move, gradient));
  Value mask = math.select(agrees, spread(1.0), zero);
  RankedTensorType type = tensorType(mask);
  Value count = sum(math.builder, math.loc, mask, allAxes(type.getRank()));
  Value share = math.divide(count, math.number(type.getNumElements(), count));
  share = math.larger(share, math.number(1e-3, share));
  return math.multiply(
      move, math.divide(mask, broadcastScalar(math.builder, math.loc, share,
                                              type.getShape())));
}

//===-- states ------------------------------------------------------------===//

Value ParameterStep::readSlot(StringRef slot, RankedTensorType type,
                              double initial) {
  std::string state = optimizer + "/" + slot.str() + "/" + name;
  if (mlir::failed(states.ensure(state, type, Role::slot, initial)))
    failed = true;
  return readState(math.builder, math.loc, state, type);
}

Value ParameterStep::readSlot(StringRef slot, double initial) {
  return readSlot(slot, tensorType(parameter), initial);
}

void ParameterStep::writeSlot(StringRef slot, Value value) {
  writeState(math.builder, math.loc, optimizer + "/" + slot.str() + "/" + name,
             value);
}

void ParameterStep::writeParameter(Value value) {
  writeState(math.builder, math.loc, name, value);
}

void ParameterStep::descend(Value direction) {
  writeParameter(math.subtract(parameter, scale(learningRate, direction)));
}

void ParameterStep::decay(double otherwise) {
  if (settings.number("weight_decay", otherwise) == 0)
    return;
  Value part = math.multiply(learningRate, number("weight_decay", otherwise));
  double largest =
      settings.number("learning_rate", 1) * settings.learningRateFactor();
  if (settings.flag("corrected_weight_decay", false) && largest != 0)
    part = math.multiply(part, math.divide(learningRate, scalar(largest)));
  parameter = scale(rest(part), parameter);
}
