// Means of factors over time; see factor_means.h.

#include "passes/methods/factor_means.h"

#include "passes/methods/weight_blocks.h"
#include "passes/numbers.h"

using namespace mlir;

namespace gradus {

Value weightOfMeasurement(const Arithmetic &math, States &states,
                          StringRef counter, double decay) {
  auto type = RankedTensorType::get({}, math.builder.getI64Type());
  if (failed(states.ensure(counter, type, Role::counter)))
    return {};
  Value before = readState(math.builder, math.loc, counter, type);
  Value count = math.add(before, math.number(1, before));
  writeState(math.builder, math.loc, counter, count);
  Value number =
      convert(math.builder, math.loc, count, math.builder.getF64Type());
  Value one = math.number(1, number);
  Value power = math.power(math.number(decay, number), number);
  Value weight =
      math.divide(math.number(1 - decay, number), math.subtract(one, power));
  return convert(math.builder, math.loc, weight, math.builder.getF32Type());
}

FailureOr<Value> meanOverTime(const Arithmetic &math, States &states,
                              StringRef name, Value factor, Value weight) {
  RankedTensorType type = tensorType(factor);
  if (failed(states.ensure(name, type, Role::slot)))
    return failure();
  Value old = readState(math.builder, math.loc, name, type);
  Value way = math.multiply(spreadLike(math, weight, factor),
                            math.subtract(factor, old));
  Value mean = math.add(old, way);
  if (type.getRank() == 3)
    mean = math.select(broadcast(math.builder, math.loc,
                                 areFinite(math, factor), type.getShape(), {0}),
                       mean, old);
  writeState(math.builder, math.loc, name, mean);
  return mean;
}

} // namespace gradus
