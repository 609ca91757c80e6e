// vdpbf16ps for any number of lanes. A single one is computed in a vector, too:
// so an element has the same bits in the ragged end of a block.

#include "codegen/cpu/pairs.h"

#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;
using namespace gradus;

/// Lanes `first` and following of a vector; undefined ones behind its end.
static Value *lanesFrom(CpuBuilder &b, Value *x, unsigned first,
                        unsigned count) {
  SmallVector<int> picked;
  for (unsigned i = 0; i < count; ++i)
    picked.push_back(first + i < lanesOf(x) ? int(first + i) : PoisonMaskElem);
  return b.CreateShuffleVector(x, picked);
}

static Value *instruction(CpuBuilder &b, Value *sum, Value *a, Value *pairs) {
  unsigned lanes = lanesOf(sum);
  Intrinsic::ID id = lanes == 4   ? Intrinsic::x86_avx512bf16_dpbf16ps_128
                     : lanes == 8 ? Intrinsic::x86_avx512bf16_dpbf16ps_256
                                  : Intrinsic::x86_avx512bf16_dpbf16ps_512;
  Type *halves = b.wide(b.getBFloatTy(), 2 * lanes);
  return b.CreateIntrinsic(
      id, {sum, b.CreateBitCast(a, halves), b.CreateBitCast(pairs, halves)});
}

/// The instruction on vectors of a width that it has.
static Value *inVectors(CpuBuilder &b, Value *sum, Value *x, Value *y) {
  constexpr unsigned widest = 16;
  unsigned lanes = lanesOf(sum);
  if (lanes == 1) {
    auto widened = [&](Value *value) {
      return b.CreateInsertElement(
          Constant::getNullValue(b.wide(value->getType(), 4)), value,
          uint64_t(0));
    };
    Value *all = instruction(b, widened(sum), widened(x), widened(y));
    return b.CreateExtractElement(all, uint64_t(0));
  }
  if (lanes < 4) {
    Value *all = instruction(b, lanesFrom(b, sum, 0, 4), lanesFrom(b, x, 0, 4),
                             lanesFrom(b, y, 0, 4));
    return lanesFrom(b, all, 0, lanes);
  }
  if (lanes <= widest)
    return instruction(b, sum, x, y);
  unsigned half = lanes / 2;
  Value *parts[2];
  for (unsigned i : {0, 1})
    parts[i] = inVectors(b, lanesFrom(b, sum, i * half, half),
                         lanesFrom(b, x, i * half, half),
                         lanesFrom(b, y, i * half, half));
  SmallVector<int> both;
  for (unsigned i = 0; i < lanes; ++i)
    both.push_back(int(i));
  return b.CreateShuffleVector(parts[0], parts[1], both);
}

/// One of the numbers of each pair as f32: bf16 is the upper half of it.
static Value *number(CpuBuilder &b, Value *pairs, bool high) {
  Value *bits =
      high ? b.CreateAnd(pairs, b.integer(pairs->getType(), 0xffff0000))
           : b.CreateShl(pairs, 16);
  return b.CreateBitCast(bits, b.likewise(pairs, b.getFloatTy()));
}

Value *gradus::addPairs(CpuBuilder &b, Value *sum, Value *x, Value *y) {
  Value *all[] = {sum, x, y};
  b.matchLanes(all);
  if (b.target.bf16)
    return inVectors(b, all[0], all[1], all[2]);
  for (bool high : {true, false})
    all[0] = b.fma(number(b, all[1], high), number(b, all[2], high), all[0]);
  return all[0];
}
