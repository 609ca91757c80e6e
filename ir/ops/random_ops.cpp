// Random bits: Philox as small ops on scalars, of which codegen makes a nest,
// and in the reference evaluator. Dropout outside training.

#include "ir/build.h"
#include "ir/evaluator/evaluator.h"
#include "ir/ops/random_bits.h"
#include "ir/philox.h"

using namespace mlir;
using namespace gradus;

using Results = FailureOr<SmallVector<HostTensor>>;
using Values = SmallVector<Value>;

//===-- random bits -------------------------------------------------------===//

namespace {
/// Arithmetic on 32-bit words, each in an i64.
struct Words {
  OpBuilder &builder;
  Location loc;

  template <typename Op> Value make(Value a, Value b) const {
    return Op::create(builder, loc, a, b);
  }
  Value number(uint64_t value) const {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getI64IntegerAttr(value));
  }
  Value low(Value a) const {
    return make<arith::AndIOp>(a, number(0xFFFFFFFF));
  }
  Value high(Value a) const { return make<arith::ShRUIOp>(a, number(32)); }
  Value mixed(Value a, Value b) const { return make<arith::XOrIOp>(a, b); }
  Value times(uint32_t factor, Value a) const {
    return make<arith::MulIOp>(a, number(factor));
  }
};
} // namespace

Value gradus::buildRandomBits(OpBuilder &builder, Location loc, Value index,
                              Value step, Value stream, int64_t seed) {
  Words words{builder, loc};
  Value x[4] = {words.low(index), words.high(index), words.low(step),
                words.low(stream)};
  uint32_t key[2] = {uint32_t(seed), uint32_t(uint64_t(seed) >> 32)};
  for (int round = 0; round < Philox::kRounds; ++round) {
    Value a = words.times(Philox::kFactors[0], x[0]),
          b = words.times(Philox::kFactors[1], x[2]);
    Value one = words.mixed(x[1], words.number(key[0])),
          three = words.mixed(x[3], words.number(key[1]));
    x[0] = words.mixed(words.high(b), one);
    x[1] = words.low(b);
    x[2] = words.mixed(words.high(a), three);
    x[3] = words.low(a);
    for (int i : {0, 1})
      key[i] += Philox::kKeySteps[i];
  }
  return x[0];
}

Value RandomBitsOp::buildBits(OpBuilder &builder, Location loc, Value index,
                              Value step, int64_t stream, int64_t seed) {
  return buildRandomBits(builder, loc, index, step,
                         Words{builder, loc}.number(stream), seed);
}

Results RandomBitsOp::evaluate(ArrayRef<HostTensor> operands) {
  HostTensor result = zeros(getType());
  uint64_t seed = getSeed();
  uint64_t first = getFirst() ? operands[1].integers[0] : 0;
  for (int64_t i = 0, end = result.size(); i < end; ++i)
    result.integers[i] = Philox::rounds(
        {uint32_t(first + i), uint32_t((first + i) >> 32),
         uint32_t(operands[0].integers[0]), uint32_t(getStream())},
        uint32_t(seed), uint32_t(seed >> 32))[0];
  return SmallVector<HostTensor>{std::move(result)};
}

//===-- dropout -----------------------------------------------------------===//

LogicalResult DropoutOp::verify() {
  double ratio = getRatio().convertToDouble();
  if (ratio >= 0 && ratio <= 1)
    return success();
  return emitOpError("has ratio ") << ratio << ", expected 0 to 1";
}

Values DropoutOp::decompose(OpBuilder &) { return {getInput()}; }

Values DropoutOp::pullback(OpBuilder &, ValueRange g) { return {g[0]}; }

Results DropoutOp::evaluate(ArrayRef<HostTensor> operands) {
  return SmallVector<HostTensor>{operands[0]};
}
