// An index is checked before it is used as an address: no access is outside of
// a buffer, whatever the data are.
//
// For sums, the owner of a slice scans all indices and adds in their order, so
// the bits do not depend on how the slices are divided.

#include "codegen/cpu/indexing.h"

#include "codegen/cpu/ops.h"
#include "ir/gather_sizes.h"

using namespace llvm;
using namespace gradus;

namespace {

/// A buffer with contiguous elements.
struct Elements {
  Elements(CpuBuilder &b, mlir::Value buffer, Value *pointer)
      : b(b), type(cast<mlir::ShapedType>(buffer.getType()).getElementType()),
        memory(memoryType(b, type)), pointer(pointer) {}

  Value *at(Value *offset) const {
    return b.CreateGEP(memory, pointer, offset);
  }
  Align align() const { return Align(memory->getScalarSizeInBits() / 8); }
  Value *load(Value *offset, unsigned lanes = 1) const {
    return b.CreateAlignedLoad(b.wide(memory, lanes), at(offset), align());
  }
  void store(Value *value, Value *offset) const {
    b.CreateAlignedStore(value, at(offset), align());
  }

  CpuBuilder &b;
  mlir::Type type;
  Type *memory;
  Value *pointer;
};

class IndexedEmitter {
public:
  IndexedEmitter(CpuBuilder &b, GatherSizes sizes, Elements source,
                 Elements indices, Elements result)
      : b_(b), sizes_(sizes), source_(source), indices_(indices),
        result_(result) {}

  void take(Value *begin, Value *end);
  void addAt(Value *begin, Value *end);

private:
  Value *number(int64_t value) { return b_.getInt64(value); }
  Value *mul(Value *x, int64_t y) { return b_.CreateNSWMul(x, number(y)); }
  Value *add(Value *x, Value *y) { return b_.CreateNSWAdd(x, y); }
  Value *placeOf(Value *row, Value *n);
  void alongSlice(function_ref<void(Value *offset, unsigned lanes)> visit);
  Value *fill(unsigned lanes);
  void addSlice(Value *to, Value *from);
  void sumRow(Value *row, Value *low, Value *high);
  void when(Value *condition, function_ref<void()> body);

  CpuBuilder &b_;
  GatherSizes sizes_;
  Elements source_, indices_, result_;
};

} // namespace

/// The index n of a row of the table, counted from the front; an index out of
/// range stays so.
Value *IndexedEmitter::placeOf(Value *row, Value *n) {
  Value *batch = b_.CreateUDiv(row, number(sizes_.outer));
  Value *index = indices_.load(add(mul(batch, sizes_.count), n));
  index = b_.CreateSExt(index, b_.getInt64Ty());
  Value *fromEnd = b_.CreateAdd(index, number(sizes_.extent));
  return b_.CreateSelect(b_.CreateICmpSLT(index, number(0)), fromEnd, index);
}

/// Visits the elements of a slice, a vector at a time, the last ones singly.
void IndexedEmitter::alongSlice(function_ref<void(Value *, unsigned)> visit) {
  unsigned lanes = b_.target.vectorBits / result_.memory->getScalarSizeInBits();
  int64_t whole = sizes_.inner / lanes * lanes;
  b_.loop(number(0), number(whole), lanes,
          [&](Value *iv) { visit(iv, lanes); });
  b_.loop(number(whole), number(sizes_.inner), 1,
          [&](Value *iv) { visit(iv, 1); });
}

/// The value for an index out of range: NaN, or 0.
Value *IndexedEmitter::fill(unsigned lanes) {
  Constant *one = Constant::getNullValue(result_.memory);
  if (result_.memory->isFloatingPointTy())
    one = ConstantFP::getNaN(result_.memory);
  else if (isNarrowFloat(result_.type))
    one = ConstantInt::get(result_.memory,
                           result_.type.isBF16() ? 0x7fc0 : 0x7e00);
  return b_.splat(one, lanes);
}

void IndexedEmitter::take(Value *begin, Value *end) {
  b_.loop(begin, end, 1, [&](Value *item) {
    Value *row = b_.CreateUDiv(item, number(sizes_.count));
    Value *place = placeOf(row, b_.CreateURem(item, number(sizes_.count)));
    Value *inside = b_.CreateICmpULT(place, number(sizes_.extent));
    Value *safe = b_.CreateSelect(inside, place, number(0));
    Value *from = mul(add(mul(row, sizes_.extent), safe), sizes_.inner);
    Value *to = mul(item, sizes_.inner);
    alongSlice([&](Value *offset, unsigned lanes) {
      Value *value = source_.load(add(from, offset), lanes);
      result_.store(b_.CreateSelect(inside, value, fill(lanes)),
                    add(to, offset));
    });
  });
}

void IndexedEmitter::when(Value *condition, function_ref<void()> body) {
  BasicBlock *then = b_.newBlock("inside"), *next = b_.newBlock("next");
  b_.CreateCondBr(condition, then, next);
  b_.SetInsertPoint(then);
  body();
  b_.CreateBr(next);
  b_.SetInsertPoint(next);
}

void IndexedEmitter::addSlice(Value *to, Value *from) {
  alongSlice([&](Value *offset, unsigned lanes) {
    Value *x = result_.load(add(to, offset), lanes);
    Value *y = source_.load(add(from, offset), lanes), *total;
    if (isNarrowFloat(result_.type))
      total = narrow(
          b_,
          b_.CreateFAdd(widen(b_, x, result_.type), widen(b_, y, result_.type)),
          result_.type);
    else if (result_.memory->isFloatingPointTy())
      total = b_.CreateFAdd(x, y);
    else
      total = b_.CreateAdd(x, y);
    result_.store(total, add(to, offset));
  });
}

/// Sums slices [low, high) of a row of the table.
void IndexedEmitter::sumRow(Value *row, Value *low, Value *high) {
  Value *first = mul(row, sizes_.extent);
  b_.loop(low, high, 1, [&](Value *place) {
    Value *to = mul(add(first, place), sizes_.inner);
    alongSlice([&](Value *offset, unsigned lanes) {
      result_.store(Constant::getNullValue(b_.wide(result_.memory, lanes)),
                    add(to, offset));
    });
  });
  b_.loop(number(0), number(sizes_.count), 1, [&](Value *n) {
    Value *place = placeOf(row, n);
    Value *own = b_.CreateAnd(b_.CreateICmpSGE(place, low),
                              b_.CreateICmpSLT(place, high));
    when(own, [&] {
      Value *from = mul(add(mul(row, sizes_.count), n), sizes_.inner);
      addSlice(mul(add(first, place), sizes_.inner), from);
    });
  });
}

void IndexedEmitter::addAt(Value *begin, Value *end) {
  Value *extent = number(sizes_.extent),
        *last = b_.CreateNSWAdd(end, number(sizes_.extent - 1));
  b_.loop(b_.CreateUDiv(begin, extent), b_.CreateUDiv(last, extent), 1,
          [&](Value *row) {
            Value *first = b_.CreateNSWMul(row, extent);
            Value *low = b_.binary(Intrinsic::smax,
                                   b_.CreateNSWSub(begin, first), number(0));
            Value *high =
                b_.binary(Intrinsic::smin, b_.CreateNSWSub(end, first), extent);
            sumRow(row, low, high);
          });
}

void gradus::emitTake(CpuBuilder &b, plan::TakeOp op, Value *begin, Value *end,
                      function_ref<Value *(mlir::Value)> pointerOf) {
  auto table = cast<mlir::ShapedType>(op.getSource().getType());
  auto indices = cast<mlir::ShapedType>(op.getIndices().getType());
  GatherSizes sizes(table.getShape(), indices.getShape(), op.getAxis(),
                    op.getBatchDims());
  auto elements = [&](mlir::Value buffer) {
    return Elements(b, buffer, pointerOf(buffer));
  };
  IndexedEmitter(b, sizes, elements(op.getSource()), elements(op.getIndices()),
                 elements(op.getOut()))
      .take(begin, end);
}

void gradus::emitAddAt(CpuBuilder &b, plan::AddAtOp op, Value *begin,
                       Value *end,
                       function_ref<Value *(mlir::Value)> pointerOf) {
  auto indices = cast<mlir::ShapedType>(op.getIndices().getType());
  GatherSizes sizes(op.getOutType().getShape(), indices.getShape(),
                    op.getAxis(), op.getBatchDims());
  auto elements = [&](mlir::Value buffer) {
    return Elements(b, buffer, pointerOf(buffer));
  };
  IndexedEmitter(b, sizes, elements(op.getSource()), elements(op.getIndices()),
                 elements(op.getOut()))
      .addAt(begin, end);
}
