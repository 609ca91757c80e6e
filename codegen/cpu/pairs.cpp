// vdpbf16ps for any number of lanes.

#include "codegen/cpu/pairs.h"

#include "llvm/IR/IntrinsicsX86.h"

using namespace llvm;
using namespace gradus;

static Value *instruction(CpuBuilder &b, ArrayRef<Value *> operands) {
  unsigned lanes = lanesOf(operands[0]);
  Intrinsic::ID id = lanes == 4   ? Intrinsic::x86_avx512bf16_dpbf16ps_128
                     : lanes == 8 ? Intrinsic::x86_avx512bf16_dpbf16ps_256
                                  : Intrinsic::x86_avx512bf16_dpbf16ps_512;
  Type *halves = b.wide(b.getBFloatTy(), 2 * lanes);
  return b.CreateIntrinsic(id,
                           {operands[0], b.CreateBitCast(operands[1], halves),
                            b.CreateBitCast(operands[2], halves)});
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
    return b.inVectors(all, [&](ArrayRef<Value *> operands) {
      return instruction(b, operands);
    });
  for (bool high : {true, false})
    all[0] = b.fma(number(b, all[1], high), number(b, all[2], high), all[0]);
  return all[0];
}
