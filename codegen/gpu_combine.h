// Sums over the threads that share a point (gpu_lanes.h): a butterfly of
// shuffles within a warp, then shared memory in the order of the warps.
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

  /// Over the lanes of a point that are in one warp: all get the same bits.
  Values acrossWarp(const NestMapping &nest, llvm::ArrayRef<Reduction> kinds,
                    Values values);
  /// Each warp leaves what it has in shared memory; behind a barrier a lane of
  /// each point collects it, and a barrier comes before the next are left.
  void leave(const NestMapping &nest, mlir::ValueRange values);
  Values collect(const NestMapping &nest, llvm::ArrayRef<Reduction> kinds,
                 mlir::ValueRange left);

private:
  mlir::Value shuffled(mlir::Value value, unsigned mask);
  GpuBuffer memoryFor(mlir::Type type);
  llvm::SmallVector<int64_t> slotsOf(mlir::ValueRange values);
  mlir::Value place(const NestMapping &nest, int64_t slot, mlir::Value warp);

  GpuBuilder &b;
  mlir::gpu::GPUFuncOp function;
  const GpuThread &thread;
  const GpuMapping &mapping;
  llvm::DenseMap<mlir::Type, mlir::Value> partials;
};

} // namespace gradus
