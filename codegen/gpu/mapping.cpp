// Chooses by size: as few threads per item as keep its points apart, but enough
// to occupy the GPU.

#include "codegen/gpu/mapping.h"

using namespace mlir;
using namespace gradus;

/// Points below which a nest alone leaves most of a card idle, so that threads
/// share points; threads that keep its memory busy with a few loads each.
static constexpr int64_t kManyPoints = 16 * 1024, kManyThreads = 64 * 1024;
/// Shared memory for sums between warps of one nest of several.
static constexpr int64_t kFewPartialBytes = 4 * 1024;

static void add(GpuMapping &mapping, const Nest &nest,
                const NestMapping &lanes) {
  mapping.nests[nest.op] = lanes;
  for (auto [type, count] : partialsOf(nest, lanes, mapping.group)) {
    int64_t &most = mapping.partials[type];
    most = std::max(most, count);
  }
}

static GpuMapping mapPoints(plan::NestOp op, const GpuModel &gpu) {
  Nest nest = readNest(op, plan::Split::serial);
  NestMapping lanes = mapNest(nest, {.group = kBlock,
                                     .enoughRows = kManyPoints,
                                     .enoughPoints = kManyThreads,
                                     .enoughTiles = gpu.blocksAtOnce(),
                                     .isAlone = true,
                                     .partialBytes = gpu.sharedBytes / 2});
  GpuMapping mapping;
  mapping.isByPoints = true;
  mapping.items = tilesOf(nest, lanes);
  mapping.group = lanes.turned ? kBlock : lanes.lanes * lanes.width();
  add(mapping, nest, lanes);
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

static bool fitsShared(plan::KernelOp kernel, const GpuMapping &mapping,
                       const GpuModel &gpu) {
  int64_t bytes = scratchBytes(kernel) * (kBlock / mapping.group);
  for (auto [type, count] : mapping.partials)
    bytes += llvm::alignTo(count * type.getIntOrFloatBitWidth() / 8, 16);
  return bytes <= gpu.sharedBytes;
}

static void mapNests(plan::KernelOp kernel, unsigned group,
                     GpuMapping &mapping) {
  mapping.group = group;
  mapping.partials.clear();
  kernel.walk([&](plan::NestOp op) {
    Nest nest = readNest(op, kernel.getSplit());
    add(mapping, nest,
        mapNest(nest, {.group = group,
                       .enoughRows = group,
                       .enoughPoints = group,
                       .enoughTiles = 1,
                       .partialBytes = kFewPartialBytes}));
  });
}

static GpuMapping mapItems(plan::KernelOp kernel, const GpuModel &gpu) {
  GpuMapping mapping;
  bool isSerial = kernel.getSplit() == plan::Split::serial;
  mapping.items = isSerial ? 1 : kernel.getItems();
  int64_t width = 0;
  kernel.walk([&](plan::NestOp op) {
    Nest nest = readNest(op, kernel.getSplit());
    width = std::max(width, parallelPoints(nest) * reducedPoints(nest));
  });
  mapNests(kernel,
           width <= 4 && mapping.items >= kManyPoints ? 1
           : width <= kWarp                           ? kWarp
           : width <= 1024 && mapping.items >= gpu.perMultiprocessor(1)
               ? kWarp
               : kBlock,
           mapping);
  if (!fitsShared(kernel, mapping, gpu))
    mapNests(kernel, kBlock, mapping);
  mapping.isScratchShared = fitsShared(kernel, mapping, gpu);
  return mapping;
}

GpuMapping gradus::chooseMapping(plan::KernelOp kernel, const GpuModel &gpu) {
  SmallVector<plan::NestOp> nests;
  kernel.walk([&](plan::NestOp op) { nests.push_back(op); });
  Block &body = kernel.getBody().front();
  bool isAlone = nests.size() == 1 && body.getOps<plan::LoopOp>().empty() &&
                 body.getOps<plan::ScratchOp>().empty();
  GpuMapping mapping =
      isAlone ? mapPoints(nests[0], gpu) : mapItems(kernel, gpu);
  int64_t threads =
      std::clamp<int64_t>(mapping.items, 1, kBlock) * mapping.group;
  mapping.threads = std::min<int64_t>(llvm::alignTo(threads, kWarp), kBlock);
  mapping.mostBlocks =
      std::max<int64_t>(1, llvm::divideCeil(mapping.items, mapping.groups()));
  if (!mapping.isScratchShared)
    mapping.mostBlocks = std::min(mapping.mostBlocks, gpu.blocksAtOnce());
  return mapping;
}
