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

static Type elementOf(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getElementType();
}

int64_t gradus::flatVector(plan::KernelOp kernel) {
  int64_t narrowest = kVectorBytes;
  for (Value buffer : kernel.getBody().getArguments())
    narrowest = std::min(narrowest, widthOf(elementOf(buffer)));
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
      : b(b), kernel(kernel),
        nest(*kernel.getBody().getOps<plan::NestOp>().begin()),
        table(function.getArgument(0)), rows(function.getArgument(1)),
        pieces(function.getArgument(2)), vector(flatVector(kernel)) {}

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

  GpuBuilder &b;
  plan::KernelOp kernel;
  plan::NestOp nest;
  Value table, rows, pieces;
  int64_t vector;
  llvm::DenseMap<Value, Value> pointers; // of the segment's buffers
  llvm::DenseMap<Value, Value> ones;     // values of one-element buffers
};

} // namespace

//===-- the table ---------------------------------------------------------===//

Value FlatEmitter::index(Value integer) {
  return b.createOrFold<arith::IndexCastOp>(b.getIndexType(), integer);
}

Value FlatEmitter::column(Value row, int64_t number) {
  int64_t columns = kFlatBuffers + kernel.getNumArguments();
  Value place = b.add(b.mul(row, columns), b.number(number));
  Value offset = b.createOrFold<arith::IndexCastOp>(b.getI64Type(), place);
  Value at = LLVM::GEPOp::create(b, table.getType(), b.getI64Type(), table,
                                 ArrayRef<LLVM::GEPArg>{offset});
  return LLVM::LoadOp::create(b, b.getI64Type(), at, 8);
}

/// The last row whose first piece is not after `piece`.
Value FlatEmitter::rowOf(Value piece) {
  Values range = {b.number(0), index(rows)};
  SmallVector<Type> types(2, b.getIndexType());
  auto search = scf::WhileOp::create(b, types, range);
  OpBuilder::InsertionGuard guard(b);
  SmallVector<Location> locations(2, b.getLoc());
  Block *before = b.createBlock(&search.getBefore(), {}, types, locations);
  Value next = b.add(before->getArgument(0), b.number(1));
  scf::ConditionOp::create(b, b.isBelow(next, before->getArgument(1)),
                           before->getArguments());
  Block *after = b.createBlock(&search.getAfter(), {}, types, locations);
  Value low = after->getArgument(0), high = after->getArgument(1);
  Value middle = b.quotient(b.add(low, high), 2);
  Value isBehind = b.isBelow(piece, index(column(middle, kFlatFirstPiece)));
  Values narrowed = {arith::SelectOp::create(b, isBehind, low, middle),
                     arith::SelectOp::create(b, isBehind, middle, high)};
  scf::YieldOp::create(b, narrowed);
  return search.getResult(0);
}

void FlatEmitter::bind(Value row) {
  for (BlockArgument buffer : kernel.getBody().getArguments()) {
    Value place = column(row, kFlatBuffers + buffer.getArgNumber());
    pointers[buffer] = LLVM::IntToPtrOp::create(b, table.getType(), place);
    if (isOne(buffer) && buffer.getArgNumber() < kernel.getInputs())
      ones[buffer] = load(buffer, b.number(0), 1);
  }
}

//===-- elements ----------------------------------------------------------===//

Value FlatEmitter::address(Value buffer, Value item) {
  Value offset = b.createOrFold<arith::IndexCastOp>(b.getI64Type(), item);
  return LLVM::GEPOp::create(b, table.getType(),
                             gpuMemoryType(elementOf(buffer)), pointers[buffer],
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value FlatEmitter::fromMemory(Value buffer, Value value) {
  return elementOf(buffer).isInteger(1)
             ? b.createOrFold<arith::TruncIOp>(b.getI1Type(), value)
             : value;
}

Value FlatEmitter::toMemory(Value buffer, Value value) {
  return elementOf(buffer).isInteger(1)
             ? b.createOrFold<arith::ExtUIOp>(b.getI8Type(), value)
             : value;
}

/// Loads one element, or a vector in memory format.
Value FlatEmitter::load(Value buffer, Value item, int64_t count) {
  Type element = gpuMemoryType(elementOf(buffer));
  int64_t width = widthOf(element);
  if (count == 1)
    return fromMemory(
        buffer, LLVM::LoadOp::create(b, element, address(buffer, item), width));
  return LLVM::LoadOp::create(b, VectorType::get({count}, element),
                              address(buffer, item),
                              std::min(kVectorBytes, count * width));
}

void FlatEmitter::store(Value buffer, Value item, Value value, int64_t count) {
  int64_t width = widthOf(elementOf(buffer));
  if (count == 1)
    value = toMemory(buffer, value);
  LLVM::StoreOp::create(b, value, address(buffer, item),
                        std::min(kVectorBytes, count * width));
}

Values FlatEmitter::run(ArrayRef<Value> elements) {
  return emitRegion(b, nest.getThen(), elements,
                    [&](int64_t) { return b.number(0); });
}

void FlatEmitter::emitItem(Value item) {
  Values elements;
  for (Value buffer : nest.getThenInputs())
    elements.push_back(isOne(buffer) ? ones[buffer] : load(buffer, item, 1));
  for (auto [buffer, value] : llvm::zip(nest.getOuts(), run(elements)))
    store(buffer, item, value, 1);
}

/// All elements are read before any is written: buffers may be the same.
void FlatEmitter::emitVector(Value first) {
  llvm::DenseMap<Value, Value> read;
  for (Value buffer : nest.getThenInputs())
    if (!isOne(buffer) && !read.contains(buffer))
      read[buffer] = load(buffer, first, vector);
  Values written;
  for (Value out : nest.getOuts())
    written.push_back(LLVM::PoisonOp::create(
        b, VectorType::get({vector}, gpuMemoryType(elementOf(out)))));
  for (int64_t i = 0; i < vector; ++i) {
    Value lane = arith::ConstantOp::create(b, b.getI64IntegerAttr(i));
    Values elements;
    for (Value buffer : nest.getThenInputs())
      elements.push_back(
          isOne(buffer) ? ones[buffer]
                        : fromMemory(buffer, LLVM::ExtractElementOp::create(
                                                 b, read[buffer], lane)));
    for (auto [all, out, value] :
         llvm::zip(written, nest.getOuts(), run(elements)))
      all = LLVM::InsertElementOp::create(b, all, toMemory(out, value), lane);
  }
  for (auto [out, value] : llvm::zip(nest.getOuts(), written))
    store(out, first, value, vector);
}

//===-- blocks ------------------------------------------------------------===//

void FlatEmitter::emitPiece(Value piece) {
  Value row = rowOf(piece);
  bind(row);
  Value items = index(column(row, kFlatItems));
  Value before = index(column(row, kFlatFirstPiece));
  Value begin = b.mul(b.createOrFold<arith::SubIOp>(piece, before),
                      kBlock * kVectors * vector);
  Value thread = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
  Value first = b.add(begin, b.mul(thread, vector));
  Value step = b.number(kBlock * vector);
  Value limit = b.createOrFold<arith::MinSIOp>(
      items, b.add(begin, b.number(kBlock * kVectors * vector)));
  if (vector == 1)
    return b.loop(first, limit, step, [&](Value item) { emitItem(item); });
  b.loop(first, limit, step, [&](Value item) {
    Value end = b.add(item, b.number(vector));
    Value isPart = b.isBelow(items, end);
    Value isWhole =
        b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::sge, items, end);
    b.when(isWhole, [&] { emitVector(item); });
    b.when(isPart, [&] {
      b.loop(item, items, b.number(1), [&](Value one) { emitItem(one); });
    });
  });
}

void FlatEmitter::emit() {
  Value block = gpu::BlockIdOp::create(b, gpu::Dimension::x);
  Value blocks = gpu::GridDimOp::create(b, gpu::Dimension::x);
  b.loop(block, index(pieces), blocks, [&](Value piece) { emitPiece(piece); });
}

void gradus::emitFlat(GpuBuilder &b, plan::KernelOp kernel,
                      gpu::GPUFuncOp function) {
  FlatEmitter(b, kernel, function).emit();
}
