// Gathers and sums at indices; an index is checked before it is used as an
// address.

#include "codegen/gpu/indexing.h"

#include "codegen/gpu/region.h"
#include "codegen/gpu/scatter.h"
#include "codegen/plan/nest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace gradus;

using Values = GpuBuilder::Values;
using Is = arith::CmpIPredicate;

static GatherSizes sizesOf(Operation *op) {
  if (auto take = dyn_cast<plan::TakeOp>(op))
    return {shapeOf(take.getSource()), shapeOf(take.getIndices()),
            int64_t(take.getAxis()), int64_t(take.getBatchDims())};
  auto add = cast<plan::AddAtOp>(op);
  return {shapeOf(add.getOut()), shapeOf(add.getIndices()),
          int64_t(add.getAxis()), int64_t(add.getBatchDims())};
}

//===-- mapping to threads -----------------------------------------------===//

int64_t gradus::indexedVector(const GatherSizes &sizes, Type element) {
  int64_t bytes = gpuMemoryType(element).getIntOrFloatBitWidth() / 8;
  int64_t vector = std::min(kVectorBytes / bytes, kMostVector);
  while (sizes.inner % vector)
    vector /= 2;
  return vector;
}

static std::optional<ScatterMapping> scatterOf(Operation *op,
                                               const GpuModel &gpu) {
  if (!isa<plan::AddAtOp>(op))
    return std::nullopt;
  return mapScatter(sizesOf(op), getElementTypeOrSelf(op->getOperand(0)), gpu);
}

GpuMapping gradus::mapIndexed(Operation *op, const GpuModel &gpu) {
  GatherSizes sizes = sizesOf(op);
  GpuMapping mapping;
  if (auto scatter = scatterOf(op, gpu)) {
    mapping.group = mapping.threads = unsigned(scatter->threads);
    mapping.items =
        sizes.batch * sizes.outer * scatter->groups * scatter->strips;
    mapping.mostBlocks = std::max<int64_t>(1, mapping.items);
    return mapping;
  }
  int64_t slices = isa<plan::TakeOp>(op) ? sizes.count : sizes.extent;
  mapping.isByPoints = true;
  mapping.items = sizes.batch * sizes.outer * slices * sizes.inner /
                  indexedVector(sizes, getElementTypeOrSelf(op->getOperand(0)));
  mapping.mostBlocks =
      std::max<int64_t>(1, llvm::divideCeil(mapping.items, kBlock));
  return mapping;
}

uint64_t gradus::indexedOperations(Operation *op, const GpuModel &gpu) {
  constexpr int64_t ofVector = 24; // its index, its address, its elements
  GatherSizes sizes = sizesOf(op);
  Type element = getElementTypeOrSelf(op->getOperand(0));
  if (isa<plan::AddAtOp>(op))
    return scatterOperations(sizes, element, gpu);
  return uint64_t(mapIndexed(op, gpu).items *
                  (ofVector + indexedVector(sizes, element)));
}

/// Counters may step past their ends by the number of threads in a grid.
bool gradus::indexedFits32Bits(Operation *op) {
  return llvm::all_of(op->getOperands(), [](Value buffer) {
    return cast<MemRefType>(buffer.getType()).getNumElements() < int64_t(1)
                                                                     << 30;
  });
}

//===-- indices and elements ----------------------------------------------===//

/// Uses 64 bits if positions have 64 bits.
IndexedPlace gradus::indexedPlace(GpuBuilder &b, const GatherSizes &sizes,
                                  Value index) {
  bool isShort = b.number(0).getType().isInteger(32);
  if (!isShort && !index.getType().isInteger(64))
    index = b.createOrFold<arith::ExtSIOp>(b.getI64Type(), index);
  auto number = [&](int64_t value) -> Value {
    return arith::ConstantOp::create(b,
                                     b.getIntegerAttr(index.getType(), value));
  };
  Value isBehind = b.createOrFold<arith::CmpIOp>(Is::slt, index, number(0));
  Value fromEnd = b.createOrFold<arith::AddIOp>(index, number(sizes.extent));
  Value place = b.createOrFold<arith::SelectOp>(isBehind, fromEnd, index);
  Value isInside =
      b.createOrFold<arith::CmpIOp>(Is::ult, place, number(sizes.extent));
  if (!isShort)
    place = b.createOrFold<arith::IndexCastOp>(b.getIndexType(), place);
  else if (index.getType().isInteger(64))
    place = b.createOrFold<arith::TruncIOp>(b.getI32Type(), place);
  return {isInside, place};
}

Values gradus::loadIndexed(GpuBuilder &b, const GpuBuffer &buffer, Type element,
                           Value at, int64_t count) {
  if (count == 1)
    return {loadGpuElement(b, buffer, element, at)};
  return elementsOf(b, element, loadGpuVector(b, buffer, element, at, count));
}

void gradus::storeIndexed(GpuBuilder &b, const GpuBuffer &buffer, Type element,
                          Value at, ValueRange values) {
  if (values.size() == 1)
    return storeGpuElement(b, buffer, element, at, values.front());
  storeGpuVector(b, buffer, element, at, values);
}

Values gradus::chooseAll(GpuBuilder &b, Value condition,
                         function_ref<Values()> then, Values otherwise) {
  auto branch = scf::IfOp::create(b, TypeRange(ValueRange(otherwise)),
                                  condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, then());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, otherwise);
  return Values(branch.getResults());
}

Values gradus::indexedZeros(GpuBuilder &b, Type element, int64_t count) {
  Type type = gpuValueType(element);
  Value zero = arith::ConstantOp::create(
      b, b.getZeroAttr(isNarrowGpuFloat(type) ? b.getF32Type() : type));
  return Values(count, zero);
}

Values gradus::addIndexed(GpuBuilder &b, ValueRange totals, ValueRange values) {
  Values sums;
  for (auto [total, value] : llvm::zip(totals, values)) {
    Value wide = widenGpuFloat(b, value);
    sums.push_back(isa<FloatType>(wide.getType())
                       ? b.createOrFold<arith::AddFOp>(total, wide)
                       : b.createOrFold<arith::AddIOp>(total, wide));
  }
  return sums;
}

Values gradus::narrowIndexed(GpuBuilder &b, Type element, ValueRange totals) {
  Values values;
  for (Value total : totals)
    values.push_back(narrowGpuFloat(b, total, gpuValueType(element)));
  return values;
}

//===-- a thread a vector -------------------------------------------------===//

/// The value for an index out of range: NaN, or 0.
static Value outside(GpuBuilder &b, Type element) {
  Type type = gpuValueType(element);
  if (auto real = dyn_cast<FloatType>(type))
    return arith::ConstantOp::create(
        b,
        b.getFloatAttr(real, llvm::APFloat::getNaN(real.getFloatSemantics())));
  return arith::ConstantOp::create(b, b.getZeroAttr(type));
}

/// The n-th index of a row of the table.
static IndexedPlace placeAt(GpuBuilder &b, const IndexedBuffers &buffers,
                            Value row, Value n) {
  const GatherSizes &sizes = buffers.sizes;
  Value batch = b.quotient(row, sizes.outer);
  return indexedPlace(b, sizes,
                      loadGpuElement(b, buffers.indices, buffers.index,
                                     b.add(b.mul(batch, sizes.count), n)));
}

static void take(GpuBuilder &b, const IndexedBuffers &buffers, Value point) {
  const GatherSizes &sizes = buffers.sizes;
  Type element = buffers.element;
  int64_t vector = indexedVector(sizes, element);
  Values at = b.positionsOf(
      point, {sizes.batch * sizes.outer, sizes.count, sizes.inner / vector});
  auto [isInside, place] = placeAt(b, buffers, at[0], at[1]);
  auto load = [&] {
    Value slice = b.add(b.mul(at[0], sizes.extent), place);
    Value from = b.add(b.mul(slice, sizes.inner), b.mul(at[2], vector));
    return loadIndexed(b, buffers.source, element, from, vector);
  };
  storeIndexed(
      b, buffers.out, element, b.mul(point, vector),
      chooseAll(b, isInside, load, Values(vector, outside(b, element))));
}

/// Scans all indices for one vector.
static void addAt(GpuBuilder &b, const IndexedBuffers &buffers, Value point) {
  const GatherSizes &sizes = buffers.sizes;
  Type element = buffers.element;
  int64_t vector = indexedVector(sizes, element);
  Values at = b.positionsOf(
      point, {sizes.batch * sizes.outer, sizes.extent, sizes.inner / vector});
  auto addOne = [&](Value n, ValueRange totals) -> Values {
    auto [isInside, place] = placeAt(b, buffers, at[0], n);
    Value isEqual = b.createOrFold<arith::CmpIOp>(Is::eq, place, at[1]);
    auto add = [&] {
      Value slice = b.add(b.mul(at[0], sizes.count), n);
      Value from = b.add(b.mul(slice, sizes.inner), b.mul(at[2], vector));
      return addIndexed(b, totals,
                        loadIndexed(b, buffers.source, element, from, vector));
    };
    return chooseAll(b, b.createOrFold<arith::AndIOp>(isInside, isEqual), add,
                     Values(totals));
  };
  Values totals = b.loop(b.number(0), b.number(sizes.count), b.number(1),
                         indexedZeros(b, element, vector), addOne);
  storeIndexed(b, buffers.out, element, b.mul(point, vector),
               narrowIndexed(b, element, totals));
}

void gradus::emitIndexed(GpuBuilder &b, Operation *op, const GpuModel &gpu,
                         Value item, gpu::GPUFuncOp function,
                         const GpuThread &thread,
                         function_ref<GpuBuffer(Value)> bufferOf) {
  IndexedBuffers buffers{sizesOf(op),
                         getElementTypeOrSelf(op->getOperand(0)),
                         getElementTypeOrSelf(op->getOperand(1)),
                         bufferOf(op->getOperand(0)),
                         bufferOf(op->getOperand(1)),
                         bufferOf(op->getOperand(2))};
  if (auto scatter = scatterOf(op, gpu))
    return emitScatter(b, *scatter, buffers, item, function, thread);
  isa<plan::TakeOp>(op) ? take(b, buffers, item) : addAt(b, buffers, item);
}
