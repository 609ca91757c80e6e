// Sums over the threads that share points (gpu_lanes.h): shuffles within a
// warp, then shared memory in the order of the warps.
//
// Where lanes share several points, each pair of them shares these out: a lane
// gives the totals of one half away and adds to those of the other, so that all
// of them are half as many behind every shuffle. Pairs with one point left both
// add, and have the same bits.
#pragma once

#include "codegen/gpu_mapping.h"
#include "codegen/gpu_vectors.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace gradus {

/// The number that every other one beats, or 0 for sums.
mlir::Value identityOf(GpuBuilder &builder, Reduction kind, mlir::Type type);
mlir::Value join(GpuBuilder &builder, Reduction kind, mlir::Value x,
                 mlir::Value y);

/// Where a thread stands in its block.
struct GpuThread {
  mlir::Value inBlock;
  mlir::Value inGroup; // of `group` threads
  unsigned group = 1;
};

class LaneCombiner {
public:
  LaneCombiner(GpuBuilder &builder, mlir::gpu::GPUFuncOp function,
               const GpuThread &thread, const GpuMapping &mapping)
      : b(builder), function(function), thread(thread), mapping(mapping) {}

  using Values = GpuBuilder::Values;

  /// What a thread has of the points that its lane shares: `count` of them from
  /// `first` on, for each kind; `isOnly` where other lanes have them as well.
  struct Share {
    Values totals;
    int64_t count = 1;
    mlir::Value first;
    mlir::Value isOnly; // null: none has
  };

  /// Over the lanes that are in one warp, of `count` points each.
  Share acrossWarp(const NestMapping &nest, llvm::ArrayRef<Reduction> kinds,
                   Values values, int64_t count);
  /// Each warp leaves what it has in shared memory; behind a barrier thread n
  /// collects point n of those of the group, and a barrier comes before the
  /// next are left.
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

  GpuBuilder &b;
  mlir::gpu::GPUFuncOp function;
  const GpuThread &thread;
  const GpuMapping &mapping;
  llvm::DenseMap<mlir::Type, mlir::Value> partials;
};

} // namespace gradus
