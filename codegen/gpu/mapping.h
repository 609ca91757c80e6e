// The mapping of a kernel's work to a GPU: which threads compute which points.
//
// A block has up to 256 threads, in groups of one thread, a warp, or the whole
// block. The groups of the grid share the items: group g of G processes items
// g, g + G, ... so that any number of blocks is right.
//
// - A kernel of one nest, with any split: an item is a tile of the points of
// the parallel dimensions that a group processes at once.
// - Other kernels split by rows: an item of the kernel. Its nests run one after
// another with a barrier of the group between them.
// - Other serial kernels: one item, of one block.
//
// Within an item the threads of the group share the points of a nest as
// gpu/lanes.h says.
//
// In a flat kernel a block processes pieces of `flatPiece` items, each thread
// vectors of 128 bits; see gpu/flat.h.
#pragma once

#include "codegen/gpu/lanes.h"
#include "codegen/gpu/model.h"

namespace gradus {

struct GpuMapping {
  bool isByPoints = false; // items are tiles of points of the only nest
  int64_t items = 1;
  unsigned group = 1;        // threads that share an item
  unsigned threads = kBlock; // of a block
  llvm::DenseMap<mlir::Operation *, NestMapping> nests;
  /// The number of elements of each type in shared memory for sums across
  /// warps.
  llvm::DenseMap<mlir::Type, int64_t> partials;

  /// Whether scratch is in shared memory, one part per group. If it does not
  /// fit it is in the device's memory, one part per block.
  bool isScratchShared = true;
  /// The number of blocks that have work and scratch.
  int64_t mostBlocks = 1;

  unsigned groups() const { return threads / group; } // of a block
};

/// Maps a kernel over rows, or a serial one.
GpuMapping chooseMapping(plan::KernelOp kernel, const GpuModel &gpu = {});

} // namespace gradus
