// Chooses the tiling of a nest on a CPU: the dimension that is vectorised, and
// the dimensions of which several positions are computed at a time.
#pragma once

#include "codegen/cpu/target.h"
#include "codegen/plan/nest_access.h"

namespace gradus {

struct Tiling {
  int vectorDim = -1; // -1: one element at a time
  unsigned lanes = 1;
  /// The positions of each dimension that are computed together: in registers
  /// of their own for a parallel dimension, by unrolling for a reduced one. It
  /// is a multiple of `lanes` along vectorDim.
  llvm::SmallVector<int64_t> sizes;
  /// If vectorDim is reduced, the tiled parallel dimension along which the sums
  /// of the lanes are gathered into vectors for the `then` region; else -1.
  int finishDim = -1;
};

/// The tiling with the least estimated time.
Tiling chooseTiling(const Nest &nest, const CpuTarget &target);

/// Estimates the cycles of a tiling, to compare tilings of a nest.
double estimateCycles(const Nest &nest, const CpuTarget &target,
                      const Tiling &tiling);

} // namespace gradus
