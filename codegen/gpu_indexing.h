// Gathers and sums at indices on a GPU. A thread writes a vector of up to 128
// bits of a slice; sums of more than a few indices are in gpu_scatter.h. An
// index is checked before it becomes an address.
#pragma once

#include "codegen/gpu_combine.h"
#include "ir/gather_sizes.h"

namespace gradus {

/// The buffers that a `plan.take` or `plan.add_at` reads and writes. Takes read
/// the table, sums write it.
struct IndexedBuffers {
  GatherSizes sizes;
  mlir::Type element, index; // types in memory's terms
  GpuBuffer source, indices, out;
};

/// A place along the axis, counted from its front; any number where `isInside`
/// does not hold.
struct IndexedPlace {
  mlir::Value isInside, position;
};
/// Tells which place of the table a loaded index means, and whether it has it.
IndexedPlace indexedPlace(GpuBuilder &builder, const GatherSizes &sizes,
                          mlir::Value index);

/// Elements of a slice that a thread takes at once.
int64_t indexedVector(const GatherSizes &sizes, mlir::Type element);
/// That many elements, as they are computed with, and back.
GpuBuilder::Values loadIndexed(GpuBuilder &builder, const GpuBuffer &buffer,
                               mlir::Type element, mlir::Value at,
                               int64_t count);
void storeIndexed(GpuBuilder &builder, const GpuBuffer &buffer,
                  mlir::Type element, mlir::Value at, mlir::ValueRange values);
/// `then()` where the condition holds, else the others.
GpuBuilder::Values chooseAll(GpuBuilder &builder, mlir::Value condition,
                             llvm::function_ref<GpuBuilder::Values()> then,
                             GpuBuilder::Values otherwise);
/// Zeros, and sums of them: those of narrow floats are of f32.
GpuBuilder::Values indexedZeros(GpuBuilder &builder, mlir::Type element,
                                int64_t count);
GpuBuilder::Values addIndexed(GpuBuilder &builder, mlir::ValueRange totals,
                              mlir::ValueRange values);
GpuBuilder::Values narrowIndexed(GpuBuilder &builder, mlir::Type element,
                                 mlir::ValueRange totals);

/// Maps a kernel of one `plan.take` or `plan.add_at` to threads.
GpuMapping mapIndexed(mlir::Operation *op, const GpuModel &gpu);
/// Estimates what all its threads execute (codegen/gpu_operations.h).
uint64_t indexedOperations(mlir::Operation *op, const GpuModel &gpu);
/// Whether all places of such an op fit into 32 bits.
bool indexedFits32Bits(mlir::Operation *op);
/// One item of it.
void emitIndexed(GpuBuilder &builder, mlir::Operation *op, const GpuModel &gpu,
                 mlir::Value item, mlir::gpu::GPUFuncOp function,
                 const GpuThread &thread,
                 llvm::function_ref<GpuBuffer(mlir::Value)> bufferOf);

} // namespace gradus
