// Identities and the ops of sum, max and min; the tree over a vector's lanes.

#include "codegen/cpu_combine.h"

#include "codegen/cpu_ops.h"

using namespace llvm;
using namespace gradus;

Combiner::Combiner(CpuBuilder &builder, Reduction kind, mlir::Type type)
    : b(&builder), kind(kind), type(type),
      accumulatorType(isNarrowFloat(type) ? builder.getFloatTy() : registerType(builder, type)) {}

bool Combiner::isPlainSum() const { return kind == Reduction::sum && !isNarrowFloat(type); }

/// The number that every other one beats: the lowest for max.
static Constant *worst(CpuBuilder &b, Type *type, bool isMax) {
  if (type->isFloatingPointTy())
    return ConstantFP::getInfinity(type, /*Negative=*/isMax);
  unsigned bits = type->getIntegerBitWidth();
  return ConstantInt::get(type, isMax ? APInt::getSignedMinValue(bits)
                                      : APInt::getSignedMaxValue(bits));
}

Value *Combiner::identity() {
  if (kind == Reduction::sum)
    return Constant::getNullValue(accumulatorType);
  return worst(*b, accumulatorType, kind == Reduction::max);
}

/// A NaN wins over every number; the sign of zero is free.
Value *Combiner::join(Value *x, Value *y) {
  bool real = accumulatorType->isFloatingPointTy();
  if (kind == Reduction::sum)
    return real ? b->CreateFAdd(x, y) : b->CreateAdd(x, y);
  if (!real)
    return b->binary(kind == Reduction::max ? Intrinsic::smax : Intrinsic::smin, x, y);
  return extremum(*b, kind == Reduction::max ? Intrinsic::maximum : Intrinsic::minimum, x, y);
}

Value *Combiner::add(Value *accumulator, Value *value) {
  Value *both[] = {accumulator, isNarrowFloat(type) ? widen(*b, value, type) : value};
  b->matchLanes(both);
  return join(both[0], both[1]);
}

/// Halves the vector until one lane is left.
Value *Combiner::acrossLanes(Value *accumulator) {
  for (unsigned lanes = lanesOf(accumulator); lanes > 1; lanes /= 2) {
    SmallVector<int> low, high;
    for (unsigned i = 0; i < lanes / 2; ++i) {
      low.push_back(i);
      high.push_back(i + lanes / 2);
    }
    accumulator = join(b->CreateShuffleVector(accumulator, low),
                       b->CreateShuffleVector(accumulator, high));
  }
  return accumulator->getType()->isVectorTy() ? b->CreateExtractElement(accumulator, uint64_t(0))
                                              : accumulator;
}

Value *Combiner::finish(Value *accumulator) {
  return isNarrowFloat(type) ? narrow(*b, accumulator, type) : accumulator;
}
