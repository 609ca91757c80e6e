// How a kernel's work lies on a GPU: which threads do which points.
//
// A block has up to 256 threads, in groups of one thread, a warp, or the whole
// block. Groups take items one after the other, all groups of the grid
// together: group g of G takes items g, g + G, ... so that any number of blocks
// is right.
//
// - A kernel of one nest, whatever its split: each point of the parallel
//   dimensions is an item of its own.
// - Other kernels over rows: an item is an item. Its nests run one after the
//   other with a barrier of the group between them.
// - Other serial kernels: one item, of one block.
//
// Within an item, `lanes` threads of the group work on one point of a nest:
// one, which goes through the reduced points in order; a warp or the block,
// whose threads go through them in turn, then combine what they have by
// butterfly shuffles and, between warps, through shared memory. The order of a
// sum follows from the shapes alone.
//
// Flat kernels: a block takes pieces of kFlatPiece vectors of 128 bits a
// thread; see gpu_flat.h.
#pragma once

#include "codegen/nest_access.h"

namespace gradus {

constexpr unsigned kWarp = 32, kBlock = 256;
/// Shared memory that a block may have without being asked for at launch.
constexpr int64_t kMostShared = 48 * 1024;

struct GpuMapping {
  bool isByPoints = false; // items are points of the only nest
  int64_t items = 1;
  unsigned group = 1;        // threads that share an item
  unsigned threads = kBlock; // of a block
  llvm::DenseMap<mlir::Operation *, unsigned> lanes; // of each nest

  /// Where scratch lies: in shared memory, a part a group, or, where that is
  /// too small, in the device's memory, a part a block.
  bool isScratchShared = true;
  /// More blocks have nothing to do, or no scratch.
  int64_t mostBlocks = 1;

  unsigned groups() const { return threads / group; } // of a block
};

/// Of a kernel over rows, or serial.
GpuMapping chooseMapping(plan::KernelOp kernel);

/// Points of the parallel dimensions of an item (or all, if `itemDim` is -1).
int64_t parallelPoints(const Nest &nest);
int64_t reducedPoints(const Nest &nest);

} // namespace gradus
