// Emits the loops of one nest, tiled and vectorised.
#pragma once

#include "codegen/cpu/memory.h"
#include "codegen/cpu/shared_points.h"
#include "codegen/cpu/tiling.h"

namespace gradus {

/// The work items to run, [begin, end) or `count` of them from `begin`, and the
/// induction variables of the loops around a nest.
struct Items {
  llvm::Value *begin = nullptr, *end = nullptr; // i64
  int64_t count = -1;                           // -1: up to `end`
  Values loops;                                 // i64, the outermost first
};

/// Emits a nest; if there is a call, then each position, or vector of these, is
/// a call.
void emitNest(CpuBuilder &builder, const Nest &nest, const Tiling &tiling,
              const Items &items, PointerOf pointerOf,
              const PointCall *call = nullptr);

} // namespace gradus
