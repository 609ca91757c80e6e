// Which threads of a group do which points of a nest, and how many elements
// each takes at once. Chosen by shapes alone, and so is the order of a sum.
//
// - No reduction, or a short one: a thread a point, neighbours for neighbours.
// - A long reduction whose inputs lie along the reduced points (a sum of rows):
//   neighbouring threads are the lanes of one point and go through the reduced
//   points in turn.
// - One whose inputs lie along points (a sum down columns: a bias gradient,
//   statistics of channels that come last): neighbouring threads have
//   neighbouring points, `columns` of them, and the group's threads for the
//   same point are its lanes.
//
// - A transpose, alone in its kernel: tiles by blocks (gpu_turned.h).
//
// Lanes combine what they have by shuffles and, between warps, through shared
// memory (gpu_combine.h).
#pragma once

#include "codegen/gpu_turned.h"

namespace gradus {

constexpr unsigned kWarp = 32, kBlock = 256;

struct NestMapping {
  /// Threads that share a point, each with a part of the reduced points.
  unsigned lanes = 1;
  /// 0: the lanes of a point are neighbours. Else thread t of the group has
  /// point t % columns and is its lane t / columns.
  unsigned columns = 0;
  /// Positions that a thread takes at once, along which dimension.
  int64_t vector = 1;
  unsigned vectorDim = 0;
  /// Of a transpose, whose tiles are a block's.
  TurnedTiles turned;

  /// Points that a thread has at once.
  int64_t pointsAtOnce(const Nest &nest) const {
    return nest.isReduced(vectorDim) ? 1 : vector;
  }
  /// Neighbouring points that neighbouring threads have at once.
  unsigned width() const { return columns ? columns : 1; }
  /// Lanes of a point that are in one warp.
  unsigned lanesOfWarp() const {
    return columns ? kWarp / columns : std::min(lanes, kWarp);
  }
  /// Whether lanes of a point are in several warps of a group.
  bool spansWarps(unsigned group) const {
    return columns ? group > kWarp : lanes > kWarp;
  }
};

/// What a group has of a nest's points.
struct LaneOptions {
  unsigned group = kBlock; // threads
  /// Points from which a nest gains nothing from threads that share one: where
  /// lanes are neighbours, and where points are.
  int64_t enoughRows = 0, enoughPoints = 0;
  /// Parts of the points that groups should find.
  int64_t enoughTiles = 1;
  bool isAlone = false; // in its kernel
  /// Bytes that partial sums may take of shared memory.
  int64_t partialBytes = 0;
};

NestMapping mapNest(const Nest &nest, const LaneOptions &options);

/// Points of the parallel dimensions of an item (or all, if `itemDim` is -1).
int64_t parallelPoints(const Nest &nest);
int64_t reducedPoints(const Nest &nest);
/// What groups take of the points one after the other.
int64_t tilesOf(const Nest &nest, const NestMapping &mapping);

/// The type in which values of one add up.
mlir::Type gpuTotalType(mlir::Type value);
/// Partial sums in shared memory: types and how many of each.
llvm::SmallVector<std::pair<mlir::Type, int64_t>>
partialsOf(const Nest &nest, const NestMapping &mapping, unsigned group);

} // namespace gradus
