// Values are ordered by kind, then by the points that a thread has at once.

#include "codegen/gpu/combine.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

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

//===-- within a warp -----------------------------------------------------===//

/// Exchanges totals between pairs of lanes: one gets those of the first half of
/// the points, the other those of the second.
Values LaneCombiner::shareOut(ArrayRef<Reduction> kinds, ValueRange values,
                              unsigned mask) {
  size_t count = values.size() / kinds.size(), half = count / 2;
  Value bit = b_.remainder(b_.quotient(thread_.inGroup, mask), 2);
  Value isUpper = b_.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ne, bit,
                                                 b_.number(0));
  Values totals;
  for (auto [k, kind] : llvm::enumerate(kinds))
    for (size_t n = 0; n < half; ++n) {
      Value low = values[k * count + n], high = values[k * count + half + n];
      Value kept = b_.createOrFold<arith::SelectOp>(isUpper, high, low);
      Value given = b_.createOrFold<arith::SelectOp>(isUpper, low, high);
      totals.push_back(join(b_, kind, kept, shuffled(given, mask)));
    }
  return totals;
}

/// Lanes of a point are `width` threads apart, i.e. neighbours if that is 1.
LaneCombiner::Share LaneCombiner::acrossWarp(const NestMapping &nest,
                                             ArrayRef<Reduction> kinds,
                                             Values values, int64_t count) {
  int64_t lanes = nest.lanesOfWarp(), parts = std::min(lanes, count);
  Share share{std::move(values), count / parts, b_.number(0), {}};
  for (unsigned mask = kWarp / 2; lanes > 1 && mask >= nest.width(); mask /= 2)
    if (share.totals.size() > kinds.size())
      share.totals = shareOut(kinds, share.totals, mask);
    else
      for (auto [value, kind] : llvm::zip(share.totals, kinds))
        value = join(b_, kind, value, shuffled(value, mask));
  if (lanes == 1)
    return share;
  Value lane = b_.quotient(b_.remainder(thread_.inGroup, kWarp), nest.width());
  share.first = b_.mul(b_.quotient(lane, lanes / parts), share.count);
  if (lanes > parts)
    share.isOnly = b_.createOrFold<arith::CmpIOp>(
        arith::CmpIPredicate::eq, b_.remainder(lane, lanes / parts),
        b_.number(0));
  return share;
}

/// Shuffles a value, which may need several shuffles of 32 bits.
Value LaneCombiner::shuffled(Value value, unsigned mask) {
  Type type = value.getType(), word = b_.getI32Type();
  auto move = [&](Value bits) -> Value {
    return gpu::ShuffleOp::create(b_, bits, mask, kWarp, gpu::ShuffleMode::XOR)
        .getShuffleResult();
  };
  unsigned width = type.getIntOrFloatBitWidth();
  if (width == 64) {
    auto halves = VectorType::get({2}, word);
    Value from = LLVM::BitcastOp::create(b_, halves, value),
          to = LLVM::PoisonOp::create(b_, halves);
    for (int32_t i : {0, 1}) {
      Value at = arith::ConstantOp::create(b_, b_.getI32IntegerAttr(i));
      Value half = move(LLVM::ExtractElementOp::create(b_, from, at));
      to = LLVM::InsertElementOp::create(b_, to, half, at);
    }
    return LLVM::BitcastOp::create(b_, type, to);
  }
  Type integer = b_.getIntegerType(width);
  Value bits = value;
  if (type != integer)
    bits = arith::BitcastOp::create(b_, integer, value);
  if (width < 32)
    bits = arith::TruncIOp::create(
        b_, integer, move(arith::ExtUIOp::create(b_, word, bits)));
  else
    bits = move(bits);
  return type == integer ? bits
                         : Value(arith::BitcastOp::create(b_, type, bits));
}

//===-- between warps -----------------------------------------------------===//

GpuBuffer LaneCombiner::memoryFor(Type type) {
  Value &memory = partials_[type];
  if (!memory)
    memory = addShared(b_, function_, type, mapping_.partials.lookup(type));
  return {memory, {}};
}

/// The index of a partial sum: kinds of one type follow each other, each with
/// all points of each warp.
Value LaneCombiner::place(int64_t slot, Value warp, int64_t points,
                          Value point) {
  Value row = b_.add(b_.number(slot * (thread_.group / kWarp)), warp);
  return b_.add(b_.mul(row, points), point);
}

void LaneCombiner::leave(const NestMapping &nest, const Share &share,
                         int64_t count) {
  SmallVector<GpuBuffer> memories;
  size_t kinds = share.totals.size() / share.count;
  auto totalsOf = [&](size_t k) {
    return ArrayRef(share.totals).slice(k * share.count, share.count);
  };
  for (size_t k = 0; k < kinds; ++k)
    memories.push_back(memoryFor(gpuMemoryType(totalsOf(k).front().getType())));
  b_.when(share.isOnly, [&] {
    Value warp = b_.quotient(thread_.inGroup, kWarp),
          column = b_.remainder(thread_.inGroup, nest.width()),
          point = b_.add(b_.mul(column, count), share.first);
    llvm::DenseMap<Type, int64_t> slots;
    for (auto [k, memory] : llvm::enumerate(memories)) {
      ArrayRef<Value> totals = totalsOf(k);
      Type type = totals.front().getType();
      Value at = place(slots[gpuMemoryType(type)]++, warp, count * nest.width(),
                       point);
      if (share.count == 1)
        storeGpuElement(b_, memory, type, at, totals.front());
      else
        storeGpuVector(b_, memory, type, at, totals);
    }
  });
}

Values LaneCombiner::collect(const NestMapping &nest, ArrayRef<Reduction> kinds,
                             ValueRange left, int64_t count) {
  Values totals;
  llvm::DenseMap<Type, int64_t> slots;
  int64_t points = count * nest.width();
  Value point = points == 1 ? b_.number(0) : thread_.inGroup;
  for (auto [k, kind] : llvm::enumerate(kinds)) {
    Type type = left[k * (left.size() / kinds.size())].getType();
    GpuBuffer memory = memoryFor(gpuMemoryType(type));
    int64_t slot = slots[gpuMemoryType(type)]++;
    Value total;
    for (unsigned warp = 0; warp < thread_.group / kWarp; ++warp) {
      Value part = loadGpuElement(b_, memory, type,
                                  place(slot, b_.number(warp), points, point));
      total = total ? join(b_, kind, total, part) : part;
    }
    totals.push_back(total);
  }
  return totals;
}
