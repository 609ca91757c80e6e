// Buffers of flat kernels are addresses in a table, so they are pointers here,
// while other kernels have memrefs of known sizes.

#include "codegen/gpu/flat.h"

#include "codegen/gpu/mapping.h"
#include "codegen/gpu/region.h"
#include "codegen/gpu/vectors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace gradus;

using Values = GpuBuilder::Values;

static constexpr int64_t kVectors = 4; // of a thread, one after another
static constexpr unsigned kGlobal = 1; // the address space of the device

static int64_t widthOf(Type element) {
  return gpuMemoryType(element).getIntOrFloatBitWidth() / 8;
}

int64_t gradus::flatVector(plan::KernelOp kernel) {
  int64_t narrowest = kVectorBytes;
  for (Value buffer : kernel.getBody().getArguments())
    narrowest = std::min(narrowest, widthOf(getElementTypeOrSelf(buffer)));
  return std::min(kVectorBytes / narrowest, kMostVector);
}

int64_t gradus::flatPiece(plan::KernelOp kernel) {
  return kBlock * kVectors * flatVector(kernel);
}

SmallVector<Type> gradus::flatArguments(MLIRContext *context) {
  Type integer = IntegerType::get(context, 64);
  return {LLVM::LLVMPointerType::get(context, kGlobal), integer, integer};
}

namespace {

class FlatEmitter {
public:
  FlatEmitter(GpuBuilder &b, plan::KernelOp kernel, gpu::GPUFuncOp function)
      : b_(b), kernel_(kernel),
        nest_(*kernel.getBody().getOps<plan::NestOp>().begin()),
        table_(function.getArgument(0)), rows_(function.getArgument(1)),
        pieces_(function.getArgument(2)), vector_(flatVector(kernel)) {}

  void emit();

private:
  Value index(Value integer);
  Value column(Value row, int64_t number);
  Value rowOf(Value piece);
  void emitPiece(Value piece);
  void bind(Value row);
  void emitVector(Value first);
  void emitItem(Value item);
  Value address(Value buffer, Value item);
  Values run(ArrayRef<Value> elements);
  bool isOne(Value buffer) {
    return cast<MemRefType>(buffer.getType()).getRank() == 0;
  }
  Value load(Value buffer, Value item, int64_t count);
  void store(Value buffer, Value item, Value value, int64_t count);
  Value fromMemory(Value buffer, Value value);
  Value toMemory(Value buffer, Value value);

  GpuBuilder &b_;
  plan::KernelOp kernel_;
  plan::NestOp nest_;
  Value table_, rows_, pieces_;
  int64_t vector_;
  llvm::DenseMap<Value, Value> pointers_; // of the segment's buffers
  llvm::DenseMap<Value, Value> ones_;     // values of one-element buffers
};

} // namespace

//===-- the table ---------------------------------------------------------===//

Value FlatEmitter::index(Value integer) {
  return b_.createOrFold<arith::IndexCastOp>(b_.getIndexType(), integer);
}

Value FlatEmitter::column(Value row, int64_t number) {
  int64_t columns = kFlatBuffers + kernel_.getNumArguments();
  Value place = b_.add(b_.mul(row, columns), b_.number(number));
  Value offset = b_.createOrFold<arith::IndexCastOp>(b_.getI64Type(), place);
  Value at = LLVM::GEPOp::create(b_, table_.getType(), b_.getI64Type(), table_,
                                 ArrayRef<LLVM::GEPArg>{offset});
  return LLVM::LoadOp::create(b_, b_.getI64Type(), at, 8);
}

/// The last row whose first piece is not after `piece`.
Value FlatEmitter::rowOf(Value piece) {
  Values range = {b_.number(0), index(rows_)};
  SmallVector<Type> types(2, b_.getIndexType());
  auto search = scf::WhileOp::create(b_, types, range);
  OpBuilder::InsertionGuard guard(b_);
  SmallVector<Location> locations(2, b_.getLoc());
  Block *before = b_.createBlock(&search.getBefore(), {}, types, locations);
  Value next = b_.add(before->getArgument(0), b_.number(1));
  scf::ConditionOp::create(b_, b_.isBelow(next, before->getArgument(1)),
                           before->getArguments());
  Block *after = b_.createBlock(&search.getAfter(), {}, types, locations);
  Value low = after->getArgument(0), high = after->getArgument(1);
  Value middle = b_.quotient(b_.add(low, high), 2);
  Value isBehind = b_.isBelow(piece, index(column(middle, kFlatFirstPiece)));
  Values narrowed = {arith::SelectOp::create(b_, isBehind, low, middle),
                     arith::SelectOp::create(b_, isBehind, middle, high)};
  scf::YieldOp::create(b_, narrowed);
  return search.getResult(0);
}

void FlatEmitter::bind(Value row) {
  for (BlockArgument buffer : kernel_.getBody().getArguments()) {
    Value place = column(row, kFlatBuffers + buffer.getArgNumber());
    pointers_[buffer] = LLVM::IntToPtrOp::create(b_, table_.getType(), place);
    if (isOne(buffer) && buffer.getArgNumber() < kernel_.getInputs())
      ones_[buffer] = load(buffer, b_.number(0), 1);
  }
}

//===-- elements ----------------------------------------------------------===//

Value FlatEmitter::address(Value buffer, Value item) {
  Value offset = b_.createOrFold<arith::IndexCastOp>(b_.getI64Type(), item);
  return LLVM::GEPOp::create(b_, table_.getType(),
                             gpuMemoryType(getElementTypeOrSelf(buffer)),
                             pointers_[buffer], ArrayRef<LLVM::GEPArg>{offset});
}

Value FlatEmitter::fromMemory(Value buffer, Value value) {
  return getElementTypeOrSelf(buffer).isInteger(1)
             ? b_.createOrFold<arith::TruncIOp>(b_.getI1Type(), value)
             : value;
}

Value FlatEmitter::toMemory(Value buffer, Value value) {
  return getElementTypeOrSelf(buffer).isInteger(1)
             ? b_.createOrFold<arith::ExtUIOp>(b_.getI8Type(), value)
             : value;
}

/// Loads one element, or a vector in memory format.
Value FlatEmitter::load(Value buffer, Value item, int64_t count) {
  Type element = gpuMemoryType(getElementTypeOrSelf(buffer));
  int64_t width = widthOf(element);
  if (count == 1)
    return fromMemory(buffer, LLVM::LoadOp::create(
                                  b_, element, address(buffer, item), width));
  return LLVM::LoadOp::create(b_, VectorType::get({count}, element),
                              address(buffer, item),
                              std::min(kVectorBytes, count * width));
}

void FlatEmitter::store(Value buffer, Value item, Value value, int64_t count) {
  int64_t width = widthOf(getElementTypeOrSelf(buffer));
  if (count == 1)
    value = toMemory(buffer, value);
  LLVM::StoreOp::create(b_, value, address(buffer, item),
                        std::min(kVectorBytes, count * width));
}

Values FlatEmitter::run(ArrayRef<Value> elements) {
  return emitRegion(b_, nest_.getThen(), elements,
                    [&](int64_t) { return b_.number(0); });
}

void FlatEmitter::emitItem(Value item) {
  Values elements;
  for (Value buffer : nest_.getThenInputs())
    elements.push_back(isOne(buffer) ? ones_[buffer] : load(buffer, item, 1));
  for (auto [buffer, value] : llvm::zip(nest_.getOuts(), run(elements)))
    store(buffer, item, value, 1);
}

/// All elements are read before any is written: buffers may be the same.
void FlatEmitter::emitVector(Value first) {
  llvm::DenseMap<Value, Value> read;
  for (Value buffer : nest_.getThenInputs())
    if (!isOne(buffer) && !read.contains(buffer))
      read[buffer] = load(buffer, first, vector_);
  Values written;
  for (Value out : nest_.getOuts())
    written.push_back(LLVM::PoisonOp::create(
        b_,
        VectorType::get({vector_}, gpuMemoryType(getElementTypeOrSelf(out)))));
  for (int64_t i = 0; i < vector_; ++i) {
    Value lane = arith::ConstantOp::create(b_, b_.getI64IntegerAttr(i));
    Values elements;
    for (Value buffer : nest_.getThenInputs())
      elements.push_back(
          isOne(buffer) ? ones_[buffer]
                        : fromMemory(buffer, LLVM::ExtractElementOp::create(
                                                 b_, read[buffer], lane)));
    for (auto [all, out, value] :
         llvm::zip(written, nest_.getOuts(), run(elements)))
      all = LLVM::InsertElementOp::create(b_, all, toMemory(out, value), lane);
  }
  for (auto [out, value] : llvm::zip(nest_.getOuts(), written))
    store(out, first, value, vector_);
}

//===-- blocks ------------------------------------------------------------===//

void FlatEmitter::emitPiece(Value piece) {
  Value row = rowOf(piece);
  bind(row);
  Value items = index(column(row, kFlatItems));
  Value before = index(column(row, kFlatFirstPiece));
  Value begin = b_.mul(b_.createOrFold<arith::SubIOp>(piece, before),
                       kBlock * kVectors * vector_);
  Value thread = gpu::ThreadIdOp::create(b_, gpu::Dimension::x);
  Value first = b_.add(begin, b_.mul(thread, vector_));
  Value step = b_.number(kBlock * vector_);
  Value limit = b_.createOrFold<arith::MinSIOp>(
      items, b_.add(begin, b_.number(kBlock * kVectors * vector_)));
  if (vector_ == 1)
    return b_.loop(first, limit, step, [&](Value item) { emitItem(item); });
  b_.loop(first, limit, step, [&](Value item) {
    Value end = b_.add(item, b_.number(vector_));
    Value isPart = b_.isBelow(items, end);
    Value isWhole =
        b_.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sge, items, end);
    b_.when(isWhole, [&] { emitVector(item); });
    b_.when(isPart, [&] {
      b_.loop(item, items, b_.number(1), [&](Value one) { emitItem(one); });
    });
  });
}

void FlatEmitter::emit() {
  Value block = gpu::BlockIdOp::create(b_, gpu::Dimension::x);
  Value blocks = gpu::GridDimOp::create(b_, gpu::Dimension::x);
  b_.loop(block, index(pieces_), blocks,
          [&](Value piece) { emitPiece(piece); });
}

void gradus::emitFlat(GpuBuilder &b, plan::KernelOp kernel,
                      gpu::GPUFuncOp function) {
  FlatEmitter(b, kernel, function).emit();
}
