// Chooses how a nest runs on a CPU: which dimension becomes vectors and which
// are computed several at a time in registers.
#pragma once

#include "codegen/cpu_target.h"
#include "codegen/nest_access.h"

namespace gradus {

struct Tiling {
  int vectorDim = -1; // -1: one element at a time
  unsigned lanes = 1;
  /// Positions of each dimension that are computed together: of a parallel one
  /// in registers of their own, of a reduced one by unrolling. A multiple of
  /// `lanes` along vectorDim.
  llvm::SmallVector<int64_t> sizes;
  /// Where vectorDim is reduced: the tiled parallel dimension along which the
  /// sums of lanes are gathered into vectors again for the `then` region, or
  /// -1.
  int finishDim = -1;
};

/// The tiling of the least estimated time.
Tiling chooseTiling(const Nest &nest, const CpuTarget &target);

/// An estimate of a tiling's time in cycles, for comparing tilings of a nest.
double estimateCycles(const Nest &nest, const CpuTarget &target,
                      const Tiling &tiling);

} // namespace gradus
