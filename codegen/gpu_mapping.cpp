// Chooses by sizes: as few threads an item as keep its points apart, as many as
// let the card have work.

#include "codegen/gpu_mapping.h"

using namespace mlir;
using namespace gradus;

/// Points below which a nest alone leaves most of a card idle, so that threads
/// share points; items from which a warp an item fills it.
static constexpr int64_t kManyPoints = 16 * 1024, kManyItems = 128;
/// Blocks that have scratch in the device's memory: two on each of its
/// processors.
static constexpr int64_t kScratchBlocks = 264;

int64_t gradus::parallelPoints(const Nest &nest) {
  int64_t points = 1;
  for (unsigned d = 0; d < nest.parallel; ++d)
    points *= int(d) == nest.itemDim ? nest.itemLength : nest.extents[d];
  return points;
}

int64_t gradus::reducedPoints(const Nest &nest) {
  int64_t points = 1;
  for (unsigned d = nest.parallel; d < nest.dims(); ++d)
    points *= nest.extents[d];
  return points;
}

/// Whether some input lies along the last reduced dimension, so that threads
/// that go through it in turn read neighbours.
static bool readsAlongReduced(const Nest &nest) {
  int last = nest.dims() - 1;
  while (last >= int(nest.parallel) && nest.extents[last] == 1)
    --last;
  return last >= int(nest.parallel) &&
         llvm::any_of(
             ArrayRef(nest.inputs).take_front(nest.mapInputs),
             [&](const Access &access) { return access.hasStride(last, 1); });
}

/// Threads that share a point, of those of a group that has so many points
/// before it gains nothing from more.
static unsigned lanesFor(const Nest &nest, unsigned group, int64_t enough) {
  int64_t points = parallelPoints(nest), reduced = reducedPoints(nest);
  if (!nest.hasReduction() || reduced < kWarp || group < kWarp)
    return 1;
  if (!readsAlongReduced(nest) && points >= enough)
    return 1;
  bool wholeBlock = group == kBlock && reduced >= 4 * kBlock &&
                    points * kBlock <= enough * kWarp;
  return wholeBlock ? kBlock : kWarp;
}

static GpuMapping mapPoints(plan::NestOp op) {
  Nest nest = readNest(op, plan::Split::serial);
  GpuMapping mapping;
  mapping.isByPoints = true;
  mapping.items = parallelPoints(nest);
  mapping.group = lanesFor(nest, kBlock, kManyPoints);
  mapping.lanes[op] = mapping.group;
  return mapping;
}

static int64_t scratchBytes(plan::KernelOp kernel) {
  int64_t bytes = 0;
  for (auto scratch : kernel.getBody().getOps<plan::ScratchOp>()) {
    auto type = cast<MemRefType>(scratch.getType());
    int64_t width = std::max(8u, type.getElementTypeBitWidth());
    bytes += llvm::alignTo(type.getNumElements() * width / 8, 16);
  }
  return bytes;
}

/// A kibibyte is left for reductions.
static bool fitsShared(plan::KernelOp kernel, unsigned groups) {
  return scratchBytes(kernel) * groups <= kMostShared - 1024;
}

static GpuMapping mapItems(plan::KernelOp kernel) {
  GpuMapping mapping;
  bool isSerial = kernel.getSplit() == plan::Split::serial;
  mapping.items = isSerial ? 1 : kernel.getItems();
  int64_t width = 0;
  kernel.walk([&](plan::NestOp op) {
    Nest nest = readNest(op, kernel.getSplit());
    width = std::max(width, parallelPoints(nest) * reducedPoints(nest));
  });
  mapping.group = width <= 4 && mapping.items >= kManyPoints     ? 1
                  : width <= kWarp                               ? kWarp
                  : width <= 1024 && mapping.items >= kManyItems ? kWarp
                                                                 : kBlock;
  if (!fitsShared(kernel, kBlock / mapping.group))
    mapping.group = kBlock;
  mapping.isScratchShared = fitsShared(kernel, mapping.groups());
  kernel.walk([&](plan::NestOp op) {
    Nest nest = readNest(op, kernel.getSplit());
    mapping.lanes[op] = lanesFor(nest, mapping.group, mapping.group);
  });
  return mapping;
}

GpuMapping gradus::chooseMapping(plan::KernelOp kernel) {
  SmallVector<plan::NestOp> nests;
  kernel.walk([&](plan::NestOp op) { nests.push_back(op); });
  Block &body = kernel.getBody().front();
  bool isAlone = nests.size() == 1 && body.getOps<plan::LoopOp>().empty() &&
                 body.getOps<plan::ScratchOp>().empty();
  GpuMapping mapping = isAlone ? mapPoints(nests[0]) : mapItems(kernel);
  int64_t threads =
      std::clamp<int64_t>(mapping.items, 1, kBlock) * mapping.group;
  mapping.threads = std::min<int64_t>(llvm::alignTo(threads, kWarp), kBlock);
  mapping.mostBlocks =
      std::max<int64_t>(1, llvm::divideCeil(mapping.items, mapping.groups()));
  if (!mapping.isScratchShared)
    mapping.mostBlocks = std::min(mapping.mostBlocks, kScratchBlocks);
  return mapping;
}
