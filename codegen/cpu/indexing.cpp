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
      : b(b), sizes(sizes), source(source), indices(indices), result(result) {}

  void take(Value *begin, Value *end);
  void addAt(Value *begin, Value *end);

private:
  Value *number(int64_t value) { return b.getInt64(value); }
  Value *mul(Value *x, int64_t y) { return b.CreateNSWMul(x, number(y)); }
  Value *add(Value *x, Value *y) { return b.CreateNSWAdd(x, y); }
  Value *placeOf(Value *row, Value *n);
  void alongSlice(function_ref<void(Value *offset, unsigned lanes)> visit);
  Value *fill(unsigned lanes);
  void addSlice(Value *to, Value *from);
  void sumRow(Value *row, Value *low, Value *high);
  void when(Value *condition, function_ref<void()> body);

  CpuBuilder &b;
  GatherSizes sizes;
  Elements source, indices, result;
};

} // namespace

/// The index n of a row of the table, counted from the front; an index out of
/// range stays so.
Value *IndexedEmitter::placeOf(Value *row, Value *n) {
  Value *batch = b.CreateUDiv(row, number(sizes.outer));
  Value *index = indices.load(add(mul(batch, sizes.count), n));
  index = b.CreateSExt(index, b.getInt64Ty());
  Value *fromEnd = b.CreateAdd(index, number(sizes.extent));
  return b.CreateSelect(b.CreateICmpSLT(index, number(0)), fromEnd, index);
}

/// Visits the elements of a slice, a vector at a time, the last ones singly.
void IndexedEmitter::alongSlice(function_ref<void(Value *, unsigned)> visit) {
  unsigned lanes = b.target.vectorBits / result.memory->getScalarSizeInBits();
  int64_t whole = sizes.inner / lanes * lanes;
  b.loop(number(0), number(whole), lanes, [&](Value *iv) { visit(iv, lanes); });
  b.loop(number(whole), number(sizes.inner), 1,
         [&](Value *iv) { visit(iv, 1); });
}

/// The value for an index out of range: NaN, or 0.
Value *IndexedEmitter::fill(unsigned lanes) {
  Constant *one = Constant::getNullValue(result.memory);
  if (result.memory->isFloatingPointTy())
    one = ConstantFP::getNaN(result.memory);
  else if (isNarrowFloat(result.type))
    one =
        ConstantInt::get(result.memory, result.type.isBF16() ? 0x7fc0 : 0x7e00);
  return b.splat(one, lanes);
}

void IndexedEmitter::take(Value *begin, Value *end) {
  b.loop(begin, end, 1, [&](Value *item) {
    Value *row = b.CreateUDiv(item, number(sizes.count));
    Value *place = placeOf(row, b.CreateURem(item, number(sizes.count)));
    Value *inside = b.CreateICmpULT(place, number(sizes.extent));
    Value *safe = b.CreateSelect(inside, place, number(0));
    Value *from = mul(add(mul(row, sizes.extent), safe), sizes.inner);
    Value *to = mul(item, sizes.inner);
    alongSlice([&](Value *offset, unsigned lanes) {
      Value *value = source.load(add(from, offset), lanes);
      result.store(b.CreateSelect(inside, value, fill(lanes)), add(to, offset));
    });
  });
}

void IndexedEmitter::when(Value *condition, function_ref<void()> body) {
  BasicBlock *then = b.newBlock("inside"), *next = b.newBlock("next");
  b.CreateCondBr(condition, then, next);
  b.SetInsertPoint(then);
  body();
  b.CreateBr(next);
  b.SetInsertPoint(next);
}

void IndexedEmitter::addSlice(Value *to, Value *from) {
  alongSlice([&](Value *offset, unsigned lanes) {
    Value *x = result.load(add(to, offset), lanes);
    Value *y = source.load(add(from, offset), lanes), *total;
    if (isNarrowFloat(result.type))
      total = narrow(
          b, b.CreateFAdd(widen(b, x, result.type), widen(b, y, result.type)),
          result.type);
    else if (result.memory->isFloatingPointTy())
      total = b.CreateFAdd(x, y);
    else
      total = b.CreateAdd(x, y);
    result.store(total, add(to, offset));
  });
}

/// Sums slices [low, high) of a row of the table.
void IndexedEmitter::sumRow(Value *row, Value *low, Value *high) {
  Value *first = mul(row, sizes.extent);
  b.loop(low, high, 1, [&](Value *place) {
    Value *to = mul(add(first, place), sizes.inner);
    alongSlice([&](Value *offset, unsigned lanes) {
      result.store(Constant::getNullValue(b.wide(result.memory, lanes)),
                   add(to, offset));
    });
  });
  b.loop(number(0), number(sizes.count), 1, [&](Value *n) {
    Value *place = placeOf(row, n);
    Value *own =
        b.CreateAnd(b.CreateICmpSGE(place, low), b.CreateICmpSLT(place, high));
    when(own, [&] {
      Value *from = mul(add(mul(row, sizes.count), n), sizes.inner);
      addSlice(mul(add(first, place), sizes.inner), from);
    });
  });
}

void IndexedEmitter::addAt(Value *begin, Value *end) {
  Value *extent = number(sizes.extent),
        *last = b.CreateNSWAdd(end, number(sizes.extent - 1));
  b.loop(b.CreateUDiv(begin, extent), b.CreateUDiv(last, extent), 1,
         [&](Value *row) {
           Value *first = b.CreateNSWMul(row, extent);
           Value *low = b.binary(Intrinsic::smax, b.CreateNSWSub(begin, first),
                                 number(0));
           Value *high =
               b.binary(Intrinsic::smin, b.CreateNSWSub(end, first), extent);
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
