// Values of a point keep their order: kind by kind, and for each kind the
// points that a thread has at once.

#include "codegen/gpu_combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace gradus;

using Values = GpuBuilder::Values;

Value gradus::identityOf(GpuBuilder &b, Reduction kind, Type type) {
  bool isMax = kind == Reduction::max;
  if (kind == Reduction::sum)
    return arith::ConstantOp::create(b, b.getZeroAttr(type));
  if (auto real = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(
        b, b.getFloatAttr(real, llvm::APFloat::getInf(real.getFloatSemantics(),
                                                      /*Negative=*/isMax)));
  unsigned bits = type.getIntOrFloatBitWidth();
  return arith::ConstantOp::create(
      b, b.getIntegerAttr(type, isMax ? llvm::APInt::getSignedMinValue(bits)
                                      : llvm::APInt::getSignedMaxValue(bits)));
}

Value gradus::join(GpuBuilder &b, Reduction kind, Value x, Value y) {
  bool isReal = isa<FloatType>(x.getType());
  if (kind == Reduction::sum)
    return isReal ? b.createOrFold<arith::AddFOp>(x, y)
                  : b.createOrFold<arith::AddIOp>(x, y);
  if (kind == Reduction::max)
    return isReal ? b.createOrFold<arith::MaximumFOp>(x, y)
                  : b.createOrFold<arith::MaxSIOp>(x, y);
  return isReal ? b.createOrFold<arith::MinimumFOp>(x, y)
                : b.createOrFold<arith::MinSIOp>(x, y);
}

/// Which kind value i of so many is of.
static Reduction kindOf(ArrayRef<Reduction> kinds, size_t i, size_t count) {
  return kinds[i / (count / kinds.size())];
}

//===-- within a warp -----------------------------------------------------===//

/// Lanes of a point lie `width` threads apart, or are neighbours.
Values LaneCombiner::acrossWarp(const NestMapping &nest,
                                ArrayRef<Reduction> kinds, Values values) {
  if (nest.lanes == 1)
    return values;
  for (auto [i, value] : llvm::enumerate(values))
    for (unsigned mask = kWarp / 2; mask >= nest.width(); mask /= 2)
      value = join(b, kindOf(kinds, i, values.size()), value,
                   shuffled(value, mask));
  return values;
}

/// Shuffles move 32 bits.
Value LaneCombiner::shuffled(Value value, unsigned mask) {
  Type type = value.getType(), word = b.getI32Type();
  auto move = [&](Value bits) -> Value {
    return gpu::ShuffleOp::create(b, bits, mask, kWarp, gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  unsigned width = type.getIntOrFloatBitWidth();
  Type integer = b.getIntegerType(width);
  Value bits = value;
  if (type != integer)
    bits = arith::BitcastOp::create(b, integer, value);
  if (width < 32)
    bits = arith::TruncIOp::create(b, integer,
                                   move(arith::ExtUIOp::create(b, word, bits)));
  else if (width == 32)
    bits = move(bits);
  else {
    Value half = arith::ConstantOp::create(b, b.getI64IntegerAttr(32));
    Value low = move(arith::TruncIOp::create(b, word, bits));
    Value high = move(arith::TruncIOp::create(
        b, word, arith::ShRUIOp::create(b, bits, half)));
    high = arith::ShLIOp::create(b, arith::ExtUIOp::create(b, integer, high),
                                 half);
    bits =
        arith::OrIOp::create(b, arith::ExtUIOp::create(b, integer, low), high);
  }
  return type == integer ? bits
                         : Value(arith::BitcastOp::create(b, type, bits));
}

//===-- between warps -----------------------------------------------------===//

GpuBuffer LaneCombiner::memoryFor(Type type) {
  Value &memory = partials[type];
  if (!memory)
    memory = addShared(b, function, type, mapping.partials.lookup(type));
  return {memory, {}};
}

/// Values of one type lie behind each other.
SmallVector<int64_t> LaneCombiner::slotsOf(ValueRange values) {
  llvm::DenseMap<Type, int64_t> next;
  SmallVector<int64_t> slots;
  for (Value value : values)
    slots.push_back(next[gpuMemoryType(value.getType())]++);
  return slots;
}

/// Neighbouring points lie side by side.
Value LaneCombiner::place(const NestMapping &nest, int64_t slot, Value warp) {
  Value row = b.add(b.number(slot * (thread.group / kWarp)), warp);
  if (nest.width() == 1)
    return row;
  return b.add(b.mul(row, nest.width()),
               b.remainder(thread.inGroup, nest.width()));
}

void LaneCombiner::leave(const NestMapping &nest, ValueRange values) {
  Value isFirst =
      b.isBelow(b.remainder(thread.inGroup, kWarp), b.number(nest.width()));
  SmallVector<GpuBuffer> memories;
  for (Value value : values)
    memories.push_back(memoryFor(gpuMemoryType(value.getType())));
  b.when(isFirst, [&] {
    Value warp = b.quotient(thread.inGroup, kWarp);
    for (auto [value, memory, slot] :
         llvm::zip(values, memories, slotsOf(values)))
      storeGpuElement(b, memory, value.getType(), place(nest, slot, warp),
                      value);
  });
}

Values LaneCombiner::collect(const NestMapping &nest, ArrayRef<Reduction> kinds,
                             ValueRange left) {
  Values totals;
  for (auto [i, value, slot] : llvm::enumerate(left, slotsOf(left))) {
    Type type = value.getType();
    GpuBuffer memory = memoryFor(gpuMemoryType(type));
    Value total;
    for (unsigned warp = 0; warp < thread.group / kWarp; ++warp) {
      Value part =
          loadGpuElement(b, memory, type, place(nest, slot, b.number(warp)));
      total =
          total ? join(b, kindOf(kinds, i, left.size()), total, part) : part;
    }
    totals.push_back(total);
  }
  return totals;
}
