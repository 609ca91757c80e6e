// |x| loses multiples of |y| until less is left. Each multiple is the leading
// bits of the quotient, which is one round for quotients below 2^26; what is
// left is a multiple of y's last bit all the way, so nothing is ever rounded.
// The quotient itself may be rounded up: then a little less than 0 is left, and
// y makes that good in the end.

#include "codegen/cpu_remainder.h"

using namespace llvm;
using namespace gradus;

/// The first 26 bits of a double: a product of two such is exact, and so is one
/// with the 27 bits that this leaves.
static Value *leading(CpuBuilder &b, Value *x) {
  Type *bits = b.likewise(x, b.getInt64Ty());
  Value *kept = b.CreateAnd(b.CreateBitCast(x, bits),
                            b.integer(bits, -(int64_t(1) << 27)));
  return b.CreateBitCast(kept, x->getType());
}

/// y, or so many times as much that a quotient of x does not overflow.
static Value *within(CpuBuilder &b, Value *x, Value *y) {
  for (int round = 0; round < 2; ++round) {
    Value *far = b.CreateFMul(y, b.real(y->getType(), 0x1p1000));
    y = b.CreateSelect(b.CreateFCmpOGE(x, far), far, y);
  }
  return y;
}

/// x less as much of a multiple of y as a round takes away.
static Value *reduced(CpuBuilder &b, Value *x, Value *y) {
  Value *quotient = leading(b, b.CreateFDiv(x, y));
  Value *multiple = b.unary(Intrinsic::trunc, quotient);
  Value *upper = leading(b, y), *lower = b.CreateFSub(y, upper);
  Value *most = b.CreateFSub(x, b.CreateFMul(multiple, upper));
  return b.CreateFSub(most, b.CreateFMul(multiple, lower));
}

/// Goes round while any lane has y or more. Where y is 0 or x infinite a round
/// makes a NaN, which is not more.
static Value *reduceAll(CpuBuilder &b, Value *x, Value *y, bool isFar) {
  BasicBlock *before = b.GetInsertBlock(), *test = b.newBlock("test"),
             *round = b.newBlock("round"), *done = b.newBlock("reduced");
  b.CreateBr(test);
  b.SetInsertPoint(test);
  PHINode *rest = b.CreatePHI(x->getType(), 2);
  rest->addIncoming(x, before);
  Value *size = b.unary(Intrinsic::fabs, rest),
        *more = b.CreateFCmpOGE(size, y);
  b.CreateCondBr(lanesOf(x) == 1 ? more : b.CreateOrReduce(more), round, done);
  b.SetInsertPoint(round);
  Value *next = reduced(b, rest, isFar ? within(b, size, y) : y);
  rest->addIncoming(b.CreateSelect(more, next, rest), round);
  b.CreateBr(test);
  b.SetInsertPoint(done);
  return rest;
}

Value *gradus::remainder(CpuBuilder &b, Value *x, Value *y) {
  Type *wide = b.likewise(x, b.getDoubleTy());
  bool isFar = x->getType() == wide; // Of f32 no quotient overflows.
  Value *dividend = b.CreateFPExt(x, wide);
  Value *divisor = b.unary(Intrinsic::fabs, b.CreateFPExt(y, wide));
  Value *size = b.unary(Intrinsic::fabs, dividend);
  Value *start =
      b.CreateSelect(b.CreateFCmpUNO(divisor, divisor), divisor, size);
  Value *rest = reduceAll(b, start, divisor, isFar);
  Value *isBelow = b.CreateFCmpOLT(rest, b.real(wide, 0));
  rest = b.CreateSelect(isBelow, b.CreateFAdd(rest, divisor), rest);
  return b.CreateFPTrunc(b.binary(Intrinsic::copysign, rest, dividend),
                         x->getType());
}
