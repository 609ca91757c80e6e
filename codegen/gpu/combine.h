// Combines values over the threads that share points (gpu/lanes.h): by shuffles
// within a warp, then through shared memory in the order of the warps.
//
// If lanes share several points, each pair of lanes splits the points: a lane
// sends its totals of one half to the partner and adds the partner's to the
// other half, so that each shuffle halves the number of points per lane. When a
// pair has one point left, both lanes compute the same total.
#pragma once

#include "codegen/gpu/mapping.h"
#include "codegen/gpu/vectors.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace gradus {

/// The neutral value of a reduction: 0 for sums, else the number that loses
/// against all others.
mlir::Value identityOf(GpuBuilder &builder, Reduction kind, mlir::Type type);
mlir::Value join(GpuBuilder &builder, Reduction kind, mlir::Value x,
                 mlir::Value y);

/// The position of a thread in its block.
struct GpuThread {
  mlir::Value inBlock;
  mlir::Value inGroup; // of `group` threads
  unsigned group = 1;
};

class LaneCombiner {
public:
  LaneCombiner(GpuBuilder &builder, mlir::gpu::GPUFuncOp function,
               const GpuThread &thread, const GpuMapping &mapping)
      : b_(builder), function_(function), thread_(thread), mapping_(mapping) {}

  using Values = GpuBuilder::Values;

  /// The totals of the `count` points from `first` on, for each kind, that a
  /// lane holds after sharing. `isOnly` says which lane writes a point that
  /// several lanes hold.
  struct Share {
    Values totals;
    int64_t count = 1;
    mlir::Value first;
    mlir::Value isOnly; // null: no other lane holds them
  };

  /// Combines `count` points over the lanes that are in one warp.
  Share acrossWarp(const NestMapping &nest, llvm::ArrayRef<Reduction> kinds,
                   Values values, int64_t count);
  /// Each warp stores its totals in shared memory; after a barrier thread n
  /// combines point n over the group's warps. A barrier precedes the next
  /// `leave`.
  void leave(const NestMapping &nest, const Share &share, int64_t count);
  Values collect(const NestMapping &nest, llvm::ArrayRef<Reduction> kinds,
                 mlir::ValueRange left, int64_t count);

private:
  Values shareOut(llvm::ArrayRef<Reduction> kinds, mlir::ValueRange values,
                  unsigned mask);
  mlir::Value shuffled(mlir::Value value, unsigned mask);
  GpuBuffer memoryFor(mlir::Type type);
  mlir::Value place(int64_t slot, mlir::Value warp, int64_t points,
                    mlir::Value point);

  GpuBuilder &b_;
  mlir::gpu::GPUFuncOp function_;
  const GpuThread &thread_;
  const GpuMapping &mapping_;
  llvm::DenseMap<mlir::Type, mlir::Value> partials_;
};

} // namespace gradus
