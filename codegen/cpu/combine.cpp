// The identities and operations of sum, max and min, and reductions across
// lanes.

#include "codegen/cpu/combine.h"

#include "codegen/cpu/ops.h"

using namespace llvm;
using namespace gradus;

Combiner::Combiner(CpuBuilder &builder, Reduction kind, mlir::Type type)
    : b_(&builder), kind_(kind), type_(type),
      accumulatorType_(isNarrowFloat(type) ? builder.getFloatTy()
                                           : registerType(builder, type)) {}

bool Combiner::isPlainSum() const {
  return kind_ == Reduction::sum && !isNarrowFloat(type_);
}

/// The identity of max or min: the lowest or the highest number.
static Constant *worst(CpuBuilder &b, Type *type, bool isMax) {
  if (type->isFloatingPointTy())
    return ConstantFP::getInfinity(type, /*Negative=*/isMax);
  unsigned bits = type->getIntegerBitWidth();
  return ConstantInt::get(type, isMax ? APInt::getSignedMinValue(bits)
                                      : APInt::getSignedMaxValue(bits));
}

Value *Combiner::identity() {
  if (kind_ == Reduction::sum)
    return Constant::getNullValue(accumulatorType_);
  return worst(*b_, accumulatorType_, kind_ == Reduction::max);
}

/// Joins two values. A NaN wins over every number; a zero may have either sign.
Value *Combiner::join(Value *x, Value *y) {
  bool real = accumulatorType_->isFloatingPointTy();
  if (kind_ == Reduction::sum)
    return real ? b_->CreateFAdd(x, y) : b_->CreateAdd(x, y);
  if (!real)
    return b_->binary(
        kind_ == Reduction::max ? Intrinsic::smax : Intrinsic::smin, x, y);
  return extremum(
      *b_, kind_ == Reduction::max ? Intrinsic::maximum : Intrinsic::minimum, x,
      y);
}

Value *Combiner::add(Value *accumulator, Value *value) {
  Value *both[] = {accumulator,
                   isNarrowFloat(type_) ? widen(*b_, value, type_) : value};
  b_->matchLanes(both);
  return join(both[0], both[1]);
}

/// Shuffle indices: the first half (or the second) of each of the `groups` runs
/// of lanes in x, and with `both` also in y.
static SmallVector<int> halves(unsigned lanes, unsigned groups, bool second,
                               bool both) {
  unsigned run = lanes / groups, half = run / 2;
  SmallVector<int> picked;
  for (unsigned source = 0; source < (both ? 2u : 1u); ++source)
    for (unsigned group = 0; group < groups; ++group)
      for (unsigned i = 0; i < half; ++i)
        picked.push_back(source * lanes + group * run + second * half + i);
  return picked;
}

/// Shuffle indices that interleave x and y within each block of 128 bits: its
/// low lanes, or its high ones.
static SmallVector<int> interleaved(unsigned lanes, unsigned block, bool high) {
  SmallVector<int> picked;
  for (unsigned first = 0; first < lanes; first += block)
    for (unsigned i = 0; i < block / 2; ++i) {
      picked.push_back(first + high * block / 2 + i);
      picked.push_back(lanes + first + high * block / 2 + i);
    }
  return picked;
}

/// Joins pairs of neighbours in a list; each result has lanes of both.
static void joinPairs(Combiner &combiner, CpuBuilder &b, Values &list,
                      ArrayRef<int> first, ArrayRef<int> second) {
  for (size_t i = 0; i < list.size() / 2; ++i) {
    Value *x = list[2 * i], *y = list[2 * i + 1];
    list[i] = combiner.join(b.CreateShuffleVector(x, y, first),
                            b.CreateShuffleVector(x, y, second));
  }
  list.truncate(list.size() / 2);
}

/// A transpose that adds along the way. First up to four vectors are combined
/// within blocks of 128 bits, which is cheap on every x86; then across blocks.
Value *Combiner::acrossLanes(ArrayRef<Value *> accumulators) {
  unsigned lanes = lanesOf(accumulators[0]),
           block = 128 / accumulatorType_->getScalarSizeInBits();
  if (accumulators.size() == 1 || lanes < block || block != 4)
    return oneByOne(accumulators);
  Value *none = PoisonValue::get(accumulators[0]->getType());
  Values list(accumulators);
  list.resize(std::max<size_t>(4, PowerOf2Ceil(list.size())), none);
  for (size_t i = 0; i < list.size(); i += 4)
    std::swap(list[i + 1], list[i + 2]); // Interleaving twice swaps them back.
  joinPairs(*this, *b_, list, interleaved(lanes, block, false),
            interleaved(lanes, block, true));
  joinPairs(*this, *b_, list, interleaved(lanes, block, false),
            interleaved(lanes, block, true));
  // Each vector has lanes / 4 blocks of four partial results; a group is the
  // blocks of the same four.
  unsigned groups = 1;
  while (list.size() > 1) {
    joinPairs(*this, *b_, list, halves(lanes, groups, false, true),
              halves(lanes, groups, true, true));
    groups *= 2;
  }
  Value *all = list[0];
  for (; lanes / groups > block; lanes /= 2)
    all =
        join(b_->CreateShuffleVector(all, halves(lanes, groups, false, false)),
             b_->CreateShuffleVector(all, halves(lanes, groups, true, false)));
  return all;
}

Value *Combiner::oneByOne(ArrayRef<Value *> accumulators) {
  Value *all = PoisonValue::get(
      b_->wide(accumulatorType_, PowerOf2Ceil(accumulators.size())));
  for (auto [i, accumulator] : enumerate(accumulators)) {
    Value *one = acrossLanes(accumulator);
    all = accumulators.size() == 1
              ? one
              : b_->CreateInsertElement(all, one, uint64_t(i));
  }
  return all;
}

/// Combines one vector in the order of the transpose above.
Value *Combiner::acrossLanes(Value *accumulator) {
  unsigned lanes = lanesOf(accumulator),
           block = 128 / accumulatorType_->getScalarSizeInBits();
  for (unsigned distance = std::min(block, lanes) / 2; distance > 0;
       distance /= 2) {
    SmallVector<int> partner;
    for (unsigned i = 0; i < lanes; ++i)
      partner.push_back(i ^ distance);
    accumulator =
        join(accumulator, b_->CreateShuffleVector(accumulator, partner));
  }
  for (; lanes > block; lanes /= 2)
    accumulator = join(
        b_->CreateShuffleVector(accumulator, halves(lanes, 1, false, false)),
        b_->CreateShuffleVector(accumulator, halves(lanes, 1, true, false)));
  return lanesOf(accumulator) > 1
             ? b_->CreateExtractElement(accumulator, uint64_t(0))
             : accumulator;
}

Value *Combiner::finish(Value *accumulator) {
  return isNarrowFloat(type_) ? narrow(*b_, accumulator, type_) : accumulator;
}
