// The table of optimizers, and what update rules share; see optimizer.h.

#include "passes/optimizers/optimizer.h"

using namespace mlir;
using namespace gradus;

static const std::vector<Optimizer> &optimizers() {
  static const std::vector<Optimizer> all = {
#define GRADUS_OPTIMIZER(name) name(),
#include "passes/optimizers/optimizers.def"
#undef GRADUS_OPTIMIZER
  };
  return all;
}

const Optimizer &gradus::optimizerOf(const recipe::Value &value) {
  for (const Optimizer &optimizer : optimizers())
    if (optimizer.name == value.choiceName())
      return optimizer;
  return optimizers().front();
}

recipe::Field gradus::optimizerKey(std::string_view key,
                                   std::string_view fallback,
                                   std::string_view help) {
  std::vector<recipe::Choice> choices;
  for (const Optimizer &optimizer : optimizers())
    choices.emplace_back(optimizer.name, optimizer.keys);
  return recipe::Field{key, recipe::Kind::variant, fallback, help}
      .among(choices)
      .definedAs("optimizer");
}

//===-- numbers -----------------------------------------------------------===//

/// A number of f64 with the digits of f32.
static Value roundedToSingle(const Arithmetic &math, Value value,
                             const recipe::Number &number) {
  if (!value.getDefiningOp<ReadOp>()) // a constant
    return math.number(static_cast<float>(number.initial), value);
  Value narrow =
      convert(math.builder, math.loc, value, math.builder.getF32Type());
  return convert(math.builder, math.loc, narrow, math.builder.getF64Type());
}

static Value scheduled(const ParameterStep &step, StringRef key, Value number) {
  Value factor = step.schedules.factorOf(key);
  return factor ? step.math.multiply(factor, number) : number;
}

Value gradus::readHyperparameter(const Arithmetic &math, States &states,
                                 const recipe::Number &number, bool isSingle) {
  Value value = readNumber(math.builder, math.loc, states, number);
  return value && isSingle ? roundedToSingle(math, value, number) : value;
}

Value ParameterStep::plain(const recipe::Number &number) {
  Value value = readHyperparameter(math, states, number, settings.isSingle);
  failed |= !value;
  return value ? value : scalar(number.initial);
}

Value ParameterStep::number(const recipe::Number &number) {
  return scheduled(*this, StringRef(number.path).rsplit('.').second,
                   plain(number));
}

Value ParameterStep::beta(const Betas &betas, unsigned index) {
  return scheduled(*this, index == 0 ? "beta1" : "beta2", plain(betas[index]));
}

Value ParameterStep::powerOfStep(Value base) const {
  return math.power(base, stepNumber);
}

Value ParameterStep::average(Value rate, Value old, Value value) const {
  return math.add(scale(rate, old), scale(rest(rate), value));
}

Value ParameterStep::approach(Value rate, Value old, Value value) const {
  Value way = math.subtract(value, old);
  if (auto known = initialValue(states, rate); known && *known <= 0.5)
    return math.subtract(value, scale(rate, way));
  return math.add(old, scale(rest(rate), way));
}

Value ParameterStep::cautious(Value move) const {
  if (!settings.isCautious)
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

void ParameterStep::decay() {
  if (!decays())
    return;
  Value part = math.multiply(learningRate, number(settings.weightDecay));
  if (settings.correctsDecay && settings.learningRate.initial != 0) {
    Value largest =
        math.multiply(plain(settings.learningRate), scalar(learningRateFactor));
    // A rate of 0 moves nothing, and needs no quotient.
    Value isZero = math.builder.createOrFold<arith::CmpFOp>(
        math.loc, arith::CmpFPredicate::OEQ, largest, scalar(0));
    Value share =
        math.divide(learningRate, math.select(isZero, scalar(1), largest));
    part = math.multiply(part, share);
  }
  parameter = scale(rest(part), parameter);
}

InFlightDiagnostic ParameterStep::error(const Twine &key) const {
  return recipe::keyError(program, path + "." + key);
}
