// Points of a nest by threads, and sums over the threads that share one.

#include "codegen/gpu_nests.h"

#include "codegen/gpu_region.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace gradus;

using Values = GpuBuilder::Values;

//===-- memory ------------------------------------------------------------===//

static Value place(GpuBuilder &b, const GpuBuffer &buffer, Value index) {
  return b.index(buffer.offset ? b.add(buffer.offset, index) : index);
}

Value gradus::loadGpuElement(GpuBuilder &b, const GpuBuffer &buffer,
                             Type element, Value index) {
  Value value = memref::LoadOp::create(b, buffer.memory,
                                       ValueRange{place(b, buffer, index)});
  if (element.isInteger(1))
    return b.createOrFold<arith::TruncIOp>(b.getI1Type(), value);
  return value;
}

void gradus::storeGpuElement(GpuBuilder &b, const GpuBuffer &buffer,
                             Type element, Value index, Value value) {
  if (element.isInteger(1))
    value = b.createOrFold<arith::ExtUIOp>(b.getI8Type(), value);
  memref::StoreOp::create(b, value, buffer.memory,
                          ValueRange{place(b, buffer, index)});
}

/// 0 where the guard does not hold.
Value NestEmitter::read(const Access &access, ValueRange positions) {
  auto load = [&] {
    return loadGpuElement(b, bufferOf(access.buffer), access.element,
                          b.evaluate(access.place, positions));
  };
  Value guard = b.holds(access.guard, positions);
  if (!guard)
    return load();
  Type type = gpuValueType(access.element);
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return b.choose(guard, load, zero);
}

void NestEmitter::write(const Access &access, ValueRange positions,
                        Value value) {
  storeGpuElement(b, bufferOf(access.buffer), access.element,
                  b.evaluate(access.place, positions), value);
}

//===-- points ------------------------------------------------------------===//

void NestEmitter::emit(const Nest &nest, const GpuItem &item, unsigned lanes) {
  this->lanes = lanes;
  lane = b.remainder(thread.inGroup, lanes);
  SmallVector<int64_t> extents(nest.extents.begin(),
                               nest.extents.begin() + nest.parallel);
  if (item.isPoint)
    return emitPoint(nest, b.positionsOf(item.number, extents));
  if (nest.itemDim >= 0)
    extents[nest.itemDim] = nest.itemLength;
  b.loop(b.quotient(thread.inGroup, lanes), b.number(parallelPoints(nest)),
         b.number(thread.group / lanes), [&](Value point) {
           Values positions = b.positionsOf(point, extents);
           if (nest.itemDim >= 0)
             positions[nest.itemDim] = b.add(
                 positions[nest.itemDim], b.mul(item.number, nest.itemLength));
           llvm::copy(item.loops, positions.begin() + 1);
           emitPoint(nest, positions);
         });
}

void NestEmitter::emitPoint(const Nest &nest, const Values &positions) {
  Values combined;
  if (nest.hasReduction())
    combined = reduce(nest, positions);
  Value isFirst;
  if (lanes > 1)
    isFirst = b.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::eq, lane,
                                            b.number(0));
  b.when(isFirst, [&] { finish(nest, positions, combined); });
}

/// What follows the reduction, at one point, by one thread.
void NestEmitter::finish(const Nest &nest, const Values &positions,
                         Values values) {
  Values all = positions; // inputs know the reduced dimensions, but for these
  all.resize(nest.dims(), b.number(0));
  for (const Access &access : ArrayRef(nest.inputs).drop_front(nest.mapInputs))
    values.push_back(read(access, all));
  Values results = emitRegion(b, nest.then(), values,
                              [&](int64_t dim) { return positions[dim]; });
  for (auto [access, result] : llvm::zip(nest.outputs, results))
    write(access, all, result);
}

//===-- reductions --------------------------------------------------------===//

/// The type in which values of one add up.
static Type totalType(GpuBuilder &b, Type type) {
  return isNarrowGpuFloat(type) ? b.getF32Type() : gpuValueType(type);
}

/// The number that every other one beats, or 0 for sums.
Value NestEmitter::identity(Reduction kind, Type type) {
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

Value NestEmitter::join(Reduction kind, Value x, Value y) {
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

Values NestEmitter::addPoint(const Nest &nest, const Values &positions,
                             ValueRange totals) {
  Values inputs;
  for (const Access &access : ArrayRef(nest.inputs).take_front(nest.mapInputs))
    inputs.push_back(read(access, positions));
  Values values = emitRegion(b, nest.map(), inputs,
                             [&](int64_t dim) { return positions[dim]; });
  for (auto [value, kind, total] : llvm::zip(values, nest.combine, totals))
    value = join(kind, total, widenGpuFloat(b, value));
  return values;
}

/// The dimensions from which on a point's lanes go through all points in turn:
/// the fewest last ones that give each lane something to do.
static unsigned firstShared(const Nest &nest, unsigned lanes) {
  unsigned first = nest.dims();
  for (int64_t points = 1; first > nest.parallel && points < lanes;)
    points *= nest.extents[--first];
  return lanes > 1 ? first : nest.dims();
}

/// Goes through the reduced dimensions from `dim` on.
Values NestEmitter::sumUp(const Nest &nest, unsigned dim, Values positions,
                          Values totals) {
  if (dim == nest.dims())
    return addPoint(nest, positions, totals);
  bool isShared = dim == firstShared(nest, lanes);
  if (!isShared && nest.extents[dim] == 1) {
    positions.push_back(b.number(0));
    return sumUp(nest, dim + 1, positions, totals);
  }
  ArrayRef<int64_t> left = ArrayRef(nest.extents).drop_front(dim);
  int64_t points = nest.extents[dim];
  for (int64_t extent : left.drop_front())
    points *= isShared ? extent : 1;
  return b.loop(isShared ? lane : b.number(0), b.number(points),
                b.number(isShared ? lanes : 1), totals,
                [&](Value n, ValueRange inside) {
                  Values next = positions;
                  if (!isShared)
                    next.push_back(n);
                  else
                    llvm::append_range(next, b.positionsOf(n, left));
                  return sumUp(nest, isShared ? nest.dims() : dim + 1, next,
                               Values(inside));
                });
}

Values NestEmitter::reduce(const Nest &nest, const Values &positions) {
  Operation *yield = nest.map().front().getTerminator();
  Values totals;
  for (auto [value, kind] : llvm::zip(yield->getOperands(), nest.combine))
    totals.push_back(identity(kind, totalType(b, value.getType())));
  totals = sumUp(nest, nest.parallel, positions, totals);
  for (auto [total, value, kind] :
       llvm::zip(totals, yield->getOperands(), nest.combine))
    total = narrowGpuFloat(b, acrossLanes(kind, total), value.getType());
  return totals;
}

//===-- threads that share a point ----------------------------------------===//

Value NestEmitter::acrossLanes(Reduction kind, Value value) {
  if (lanes == 1)
    return value;
  value = acrossWarp(kind, value);
  return lanes == kWarp ? value : acrossWarps(kind, value);
}

/// A butterfly: all lanes get the same bits.
Value NestEmitter::acrossWarp(Reduction kind, Value value) {
  for (unsigned mask = kWarp / 2; mask > 0; mask /= 2)
    value = join(kind, value, shuffled(value, mask));
  return value;
}

/// Shuffles move 32 bits.
Value NestEmitter::shuffled(Value value, unsigned mask) {
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

/// Each warp leaves its value in shared memory; all threads combine them in
/// the order of the warps.
Value NestEmitter::acrossWarps(Reduction kind, Value value) {
  unsigned warps = lanes / kWarp;
  Type type = gpuMemoryType(value.getType());
  Value &memory = partials[type];
  if (!memory)
    memory = function.addWorkgroupAttribution(
        MemRefType::get({warps}, type, MemRefLayoutAttrInterface(),
                        gpu::AddressSpaceAttr::get(
                            b.getContext(), gpu::AddressSpace::Workgroup)),
        b.getLoc());
  GpuBuffer buffer{memory, {}};
  Value isFirst = b.createOrFold<arith::CmpIOp>(
      arith::CmpIPredicate::eq, b.remainder(lane, kWarp), b.number(0));
  b.when(isFirst, [&] {
    storeGpuElement(b, buffer, value.getType(), b.quotient(lane, kWarp), value);
  });
  gpu::BarrierOp::create(b);
  Value total = loadGpuElement(b, buffer, value.getType(), b.number(0));
  for (unsigned warp = 1; warp < warps; ++warp)
    total = join(kind, total,
                 loadGpuElement(b, buffer, value.getType(), b.number(warp)));
  gpu::BarrierOp::create(b);
  return total;
}
