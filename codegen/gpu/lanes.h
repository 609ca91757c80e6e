// Chooses which threads of a group compute which points of a nest, and how many
// elements each processes at once. The choice depends only on shapes, and so
// does the order of a sum.
//
// - No reduction, or a short one: one thread per point, neighbouring threads
// for neighbouring points.
// - A long reduction over contiguous inputs (a sum of rows): neighbouring
// threads are the lanes of one point and step through the reduced points
// together.
// - A long reduction whose inputs are contiguous along the points (a sum of
// columns: a bias gradient, statistics of channels that come last):
// neighbouring threads have neighbouring points, `columns` of them, and the
// group's threads for the same point are its lanes.
//
// - A transpose, alone in its kernel: tiles of a block (gpu/turned.h).
//
// Lanes combine their values by shuffles and, across warps, through shared
// memory (gpu/combine.h).
#pragma once

#include "codegen/gpu/turned.h"

namespace gradus {

constexpr unsigned kWarp = 32, kBlock = 256;

struct NestMapping {
  /// The number of threads that share a point, each with a part of the reduced
  /// points.
  unsigned lanes = 1;
  /// 0: the lanes of a point are neighbours. Otherwise thread t of the group
  /// has point t % columns and is its lane t / columns.
  unsigned columns = 0;
  /// The number of positions that a thread processes at once, and their
  /// dimension.
  int64_t vector = 1;
  unsigned vectorDim = 0;
  /// The tiles of a transpose, each of one block.
  TurnedTiles turned;

  /// The number of points that a thread has at once.
  int64_t pointsAtOnce(const Nest &nest) const {
    return nest.isReduced(vectorDim) ? 1 : vector;
  }
  /// The number of neighbouring points that neighbouring threads have at once.
  unsigned width() const { return columns ? columns : 1; }
  /// The number of lanes of a point that are in one warp.
  unsigned lanesOfWarp() const {
    return columns ? kWarp / columns : std::min(lanes, kWarp);
  }
  /// Whether lanes of a point are in several warps of a group.
  bool spansWarps(unsigned group) const {
    return columns ? group > kWarp : lanes > kWarp;
  }
};

/// The limits within which lanes are chosen.
struct LaneOptions {
  unsigned group = kBlock; // threads
  /// The number of points from which sharing points among threads gains
  /// nothing: if lanes are neighbours, and if points are.
  int64_t enoughRows = 0, enoughPoints = 0;
  /// The number of tiles that the points should give, for all groups to have
  /// one.
  int64_t enoughTiles = 1;
  bool isAlone = false; // in its kernel
  /// The shared memory available for partial sums, in bytes.
  int64_t partialBytes = 0;
};

NestMapping mapNest(const Nest &nest, const LaneOptions &options);

/// The number of points of an item along the parallel dimensions (of all items,
/// if `itemDim` is -1).
int64_t parallelPoints(const Nest &nest);
int64_t reducedPoints(const Nest &nest);
/// The number of tiles of points that groups process one after another.
int64_t tilesOf(const Nest &nest, const NestMapping &mapping);

/// The type in which values of this type are summed.
mlir::Type gpuTotalType(mlir::Type value);
/// The types of the partial sums in shared memory, and the number of each.
llvm::SmallVector<std::pair<mlir::Type, int64_t>>
partialsOf(const Nest &nest, const NestMapping &mapping, unsigned group);

} // namespace gradus
