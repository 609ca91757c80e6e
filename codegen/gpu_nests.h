// A nest as code of the threads of a group.
#pragma once

#include "codegen/gpu_builder.h"
#include "codegen/gpu_mapping.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace gradus {

/// Memory of a kernel: elements in a line, `offset` of them before the first.
struct GpuBuffer {
  mlir::Value memory; // memref<Nx..>
  mlir::Value offset; // null: 0
};

/// Where a thread stands in its block.
struct GpuThread {
  mlir::Value inBlock;
  mlir::Value inGroup; // of `group` threads
  unsigned group = 1;
};

/// The item and the positions of the loops around a nest.
struct GpuItem {
  mlir::Value number;
  llvm::SmallVector<mlir::Value> loops;
  bool isPoint = false; // of the only nest, rather than an index of d0
};

class NestEmitter {
public:
  NestEmitter(GpuBuilder &builder, mlir::gpu::GPUFuncOp function,
              const GpuThread &thread,
              llvm::function_ref<GpuBuffer(mlir::Value)> bufferOf)
      : b(builder), function(function), thread(thread), bufferOf(bufferOf) {}

  /// All points of an item, each by `lanes` threads.
  void emit(const Nest &nest, const GpuItem &item, unsigned lanes);

private:
  using Values = GpuBuilder::Values;

  void emitPoint(const Nest &nest, const Values &positions);
  Values reduce(const Nest &nest, const Values &positions);
  Values sumUp(const Nest &nest, unsigned dim, Values positions, Values totals);
  Values addPoint(const Nest &nest, const Values &positions,
                  mlir::ValueRange totals);
  void finish(const Nest &nest, const Values &positions, Values combined);
  mlir::Value read(const Access &access, mlir::ValueRange positions);
  void write(const Access &access, mlir::ValueRange positions,
             mlir::Value value);
  mlir::Value acrossLanes(Reduction kind, mlir::Value value);
  mlir::Value acrossWarp(Reduction kind, mlir::Value value);
  mlir::Value acrossWarps(Reduction kind, mlir::Value value);
  mlir::Value shuffled(mlir::Value value, unsigned mask);
  mlir::Value identity(Reduction kind, mlir::Type type);
  mlir::Value join(Reduction kind, mlir::Value x, mlir::Value y);

  GpuBuilder &b;
  mlir::gpu::GPUFuncOp function;
  const GpuThread &thread;
  llvm::function_ref<GpuBuffer(mlir::Value)> bufferOf;
  unsigned lanes = 1;
  mlir::Value lane; // of those that share a point
  llvm::DenseMap<mlir::Type, mlir::Value> partials; // one a warp
};

/// An element of a buffer, as it is computed with.
mlir::Value loadGpuElement(GpuBuilder &builder, const GpuBuffer &buffer,
                           mlir::Type element, mlir::Value index);
void storeGpuElement(GpuBuilder &builder, const GpuBuffer &buffer,
                     mlir::Type element, mlir::Value index, mlir::Value value);

} // namespace gradus
