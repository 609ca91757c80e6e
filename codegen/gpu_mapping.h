// How a kernel's work lies on a GPU: which threads do which points.
//
// A block has up to 256 threads, in groups of one thread, a warp, or the whole
// block. Groups take items one after the other, all groups of the grid
// together: group g of G takes items g, g + G, ... so that any number of blocks
// is right.
//
// - A kernel of one nest, whatever its split: the points of the parallel
//   dimensions, in tiles of those that a group has at once, are its items.
// - Other kernels over rows: an item is an item. Its nests run one after the
//   other with a barrier of the group between them.
// - Other serial kernels: one item, of one block.
//
// Within an item, gpu_lanes.h says how the threads of the group share the
// points of a nest.
//
// Flat kernels: a block takes pieces of `flatPiece` items, vectors of 128 bits
// a thread; see gpu_flat.h.
#pragma once

#include "codegen/gpu_lanes.h"
#include "codegen/gpu_model.h"

namespace gradus {

struct GpuMapping {
  bool isByPoints = false; // items are tiles of points of the only nest
  int64_t items = 1;
  unsigned group = 1;        // threads that share an item
  unsigned threads = kBlock; // of a block
  llvm::DenseMap<mlir::Operation *, NestMapping> nests;
  /// Elements of each type that sums between warps need in shared memory.
  llvm::DenseMap<mlir::Type, int64_t> partials;

  /// Where scratch lies: in shared memory, a part a group, or, where that is
  /// too small, in the device's memory, a part a block.
  bool isScratchShared = true;
  /// More blocks have nothing to do, or no scratch.
  int64_t mostBlocks = 1;

  unsigned groups() const { return threads / group; } // of a block
};

/// Maps a kernel over rows, or a serial one.
GpuMapping chooseMapping(plan::KernelOp kernel, const GpuModel &gpu = {});

} // namespace gradus
