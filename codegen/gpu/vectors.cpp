// Strides and offsets alone tell which vectors fit.

#include "codegen/gpu/vectors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace gradus;

using Values = GpuBuilder::Values;

//===-- alignment and width ----------------------------------------------===//

/// The maximum operations of a nest's regions for all elements of a vector:
/// with more, ptxas takes longer than they save.
static constexpr int64_t kMostOps = 256;

int64_t gradus::extentOf(const Nest &nest, unsigned dim) {
  return int(dim) == nest.itemDim ? nest.itemLength : nest.extents[dim];
}

int gradus::lastLong(const Nest &nest, unsigned first, unsigned end) {
  for (int dim = int(end) - 1; dim >= int(first); --dim)
    if (extentOf(nest, dim) != 1)
      return dim;
  return -1;
}

/// Whether vectors along a dimension are aligned to their length.
static bool beginsWhole(const Access &access, unsigned dim, int64_t vector) {
  const Linear &place = access.place;
  int64_t elements = cast<MemRefType>(access.buffer.getType()).getNumElements();
  bool isPart = isa_and_present<plan::ScratchOp>(access.buffer.getDefiningOp());
  bool whole =
      place.offset % vector == 0 && (!isPart || elements % vector == 0);
  for (auto [other, stride] : llvm::enumerate(place.strides))
    whole &= other == dim || stride % vector == 0;
  for (auto &[expression, scale] : place.terms)
    whole &= scale % vector == 0;
  return whole;
}

bool gradus::fitsVector(const Access &access, unsigned dim, int64_t vector) {
  return !access.dependsOn(dim) ||
         (access.hasStride(dim, 1) && !access.isGuardedBy(dim) &&
          beginsWhole(access, dim, vector));
}

static int64_t widthOf(const Access &access) {
  return gpuMemoryType(access.element).getIntOrFloatBitWidth() / 8;
}

/// Whether neighbouring positions are mostly neighbours in memory, with any
/// alignment.
static bool liesAlong(const Access &access, unsigned dim) {
  return access.hasStride(dim, 1) || access.place.isIrregularIn(dim);
}

/// The widest vector that fits every access, or every output if `isLoose`.
static int64_t widestVector(const Nest &nest, unsigned dim, bool isLoose) {
  bool isReduced = nest.isReduced(dim);
  SmallVector<const Access *> accesses, outputs;
  for (auto [i, access] : llvm::enumerate(nest.inputs))
    if (!isReduced || i < nest.mapInputs)
      accesses.push_back(&access);
  if (!isReduced)
    for (const Access &access : nest.outputs)
      outputs.push_back(&access);
  llvm::append_range(accesses, outputs);
  int64_t narrowest = 2 * kVectorBytes;
  for (const Access *access : accesses)
    if (access->hasStride(dim, 1))
      narrowest = std::min(narrowest, widthOf(*access));
  int64_t ops = nest.map().front().getOperations().size() +
                (isReduced ? 0 : nest.then().front().getOperations().size());
  int64_t vector = std::min(kVectorBytes / narrowest, kMostVector);
  auto isWhole = [&] {
    return extentOf(nest, dim) % vector == 0 && ops * vector <= kMostOps &&
           llvm::all_of(accesses, [&](const Access *access) {
             bool isInput = !llvm::is_contained(outputs, access);
             return fitsVector(*access, dim, vector) ||
                    (isLoose && isInput && liesAlong(*access, dim));
           });
  };
  while (vector > 1 && !isWhole())
    vector /= 2;
  return std::max<int64_t>(vector, 1);
}

int64_t gradus::widestVector(const Nest &nest, unsigned dim) {
  if (nest.isLoop(dim))
    return 1;
  int64_t vector = ::widestVector(nest, dim, /*isLoose=*/false);
  return vector > 1 || nest.hasReduction()
             ? vector
             : ::widestVector(nest, dim, /*isLoose=*/true);
}

//===-- elements ----------------------------------------------------------===//

static Value place(GpuBuilder &b, const GpuBuffer &buffer, Value index) {
  return b.index(buffer.offset ? b.add(buffer.offset, index) : index);
}

static Value fromMemory(GpuBuilder &b, Type element, Value value) {
  return element.isInteger(1)
             ? b.createOrFold<arith::TruncIOp>(b.getI1Type(), value)
             : value;
}

static Value toMemory(GpuBuilder &b, Type element, Value value) {
  return element.isInteger(1)
             ? b.createOrFold<arith::ExtUIOp>(b.getI8Type(), value)
             : value;
}

Value gradus::loadGpuElement(GpuBuilder &b, const GpuBuffer &buffer,
                             Type element, Value index) {
  return fromMemory(b, element,
                    memref::LoadOp::create(
                        b, buffer.memory, ValueRange{place(b, buffer, index)}));
}

void gradus::storeGpuElement(GpuBuilder &b, const GpuBuffer &buffer,
                             Type element, Value index, Value value) {
  memref::StoreOp::create(b, toMemory(b, element, value), buffer.memory,
                          ValueRange{place(b, buffer, index)});
}

Value gradus::addShared(GpuBuilder &b, gpu::GPUFuncOp function, Type type,
                        int64_t count) {
  unsigned number = function.getNumWorkgroupAttributions();
  auto space =
      gpu::AddressSpaceAttr::get(b.getContext(), gpu::AddressSpace::Workgroup);
  Value memory = function.addWorkgroupAttribution(
      MemRefType::get({count}, type, MemRefLayoutAttrInterface(), space),
      b.getLoc());
  function.setWorkgroupAttributionAttr(number,
                                       LLVM::LLVMDialect::getAlignAttrName(),
                                       b.getI64IntegerAttr(kVectorBytes));
  return memory;
}

//===-- vectors -----------------------------------------------------------===//

static llvm::MaybeAlign alignmentOf(VectorType type) {
  int64_t bytes = type.getNumElements() * type.getElementTypeBitWidth() / 8;
  return llvm::Align(std::min(kVectorBytes, bytes));
}

static Value number(GpuBuilder &b, int64_t lane) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(lane));
}

Value gradus::loadGpuVector(GpuBuilder &b, const GpuBuffer &buffer,
                            Type element, Value index, int64_t count) {
  auto type = VectorType::get({count}, gpuMemoryType(element));
  return vector::LoadOp::create(b, type, buffer.memory,
                                ValueRange{place(b, buffer, index)},
                                /*nontemporal=*/false, alignmentOf(type));
}

Values gradus::elementsOf(GpuBuilder &b, Type element, Value all) {
  Values values;
  for (int64_t i = 0; i < cast<VectorType>(all.getType()).getNumElements(); ++i)
    values.push_back(fromMemory(
        b, element, LLVM::ExtractElementOp::create(b, all, number(b, i))));
  return values;
}

void gradus::storeGpuVector(GpuBuilder &b, const GpuBuffer &buffer,
                            Type element, Value index, ValueRange values) {
  auto type = VectorType::get({int64_t(values.size())}, gpuMemoryType(element));
  Value all = LLVM::PoisonOp::create(b, type);
  for (auto [i, value] : llvm::enumerate(values))
    all = LLVM::InsertElementOp::create(b, all, toMemory(b, element, value),
                                        number(b, i));
  vector::StoreOp::create(b, all, buffer.memory,
                          ValueRange{place(b, buffer, index)},
                          /*nontemporal=*/false, alignmentOf(type));
}
