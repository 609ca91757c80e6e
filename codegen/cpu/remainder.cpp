// Subtracts multiples of |y| from |x| until less than |y| is left. Each
// multiple has the leading bits of the quotient, so one iteration suffices for
// quotients below 2^26. All remainders are multiples of y's last bit, so
// nothing is ever rounded. The quotient may be rounded up, which leaves
// slightly less than 0; adding y corrects that at the end.

#include "codegen/cpu/remainder.h"

using namespace llvm;
using namespace gradus;

/// The first 26 bits of a double. Products of two such numbers are exact, and
/// so are those with the remaining 27 bits.
static Value *leading(CpuBuilder &b, Value *x) {
  Type *bits = b.likewise(x, b.getInt64Ty());
  Value *kept = b.CreateAnd(b.CreateBitCast(x, bits),
                            b.integer(bits, -(int64_t(1) << 27)));
  return b.CreateBitCast(kept, x->getType());
}

/// y, multiplied by a power of 2 if the quotient of x would overflow.
static Value *within(CpuBuilder &b, Value *x, Value *y) {
  for (int round = 0; round < 2; ++round) {
    Value *far = b.CreateFMul(y, b.real(y->getType(), 0x1p1000));
    y = b.CreateSelect(b.CreateFCmpOGE(x, far), far, y);
  }
  return y;
}

/// Subtracts the multiple of y that one iteration removes from x.
static Value *reduced(CpuBuilder &b, Value *x, Value *y) {
  Value *quotient = leading(b, b.CreateFDiv(x, y));
  Value *multiple = b.unary(Intrinsic::trunc, quotient);
  Value *upper = leading(b, y), *lower = b.CreateFSub(y, upper);
  Value *most = b.CreateFSub(x, b.CreateFMul(multiple, upper));
  return b.CreateFSub(most, b.CreateFMul(multiple, lower));
}

/// Iterates while any lane is at least y. If y is 0 or x infinite an iteration
/// gives NaN, which ends the loop.
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
  bool isFar = x->getType() == wide; // An f32 quotient cannot overflow.
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
