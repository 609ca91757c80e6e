// Gathers and sums at indices on a GPU. A thread writes a vector of up to 128
// bits of a slice; for sums of more than a few indices see gpu/scatter.h.
// Indices are checked before they are used as addresses.
#pragma once

#include "codegen/gpu/combine.h"
#include "ir/gather_sizes.h"

namespace gradus {

/// The buffers that a `plan.take` or `plan.add_at` reads and writes. The former
/// reads the table, the latter writes it.
struct IndexedBuffers {
  GatherSizes sizes;
  mlir::Type element, index; // types in memory
  GpuBuffer source, indices, out;
};

/// An index along the axis, counted from the front; any number if `isInside`
/// does not hold.
struct IndexedPlace {
  mlir::Value isInside, position;
};
/// Normalises a loaded index, which may be negative, and checks it.
IndexedPlace indexedPlace(GpuBuilder &builder, const GatherSizes &sizes,
                          mlir::Value index);

/// The elements of a slice that a thread processes at once.
int64_t indexedVector(const GatherSizes &sizes, mlir::Type element);
/// Loads and stores that many elements, converted from and to the type in which
/// they are computed.
GpuBuilder::Values loadIndexed(GpuBuilder &builder, const GpuBuffer &buffer,
                               mlir::Type element, mlir::Value at,
                               int64_t count);
void storeIndexed(GpuBuilder &builder, const GpuBuffer &buffer,
                  mlir::Type element, mlir::Value at, mlir::ValueRange values);
/// `then()` if the condition holds, else `otherwise`.
GpuBuilder::Values chooseAll(GpuBuilder &builder, mlir::Value condition,
                             llvm::function_ref<GpuBuilder::Values()> then,
                             GpuBuilder::Values otherwise);
/// Zeros and sums; narrow floats are summed in f32.
GpuBuilder::Values indexedZeros(GpuBuilder &builder, mlir::Type element,
                                int64_t count);
GpuBuilder::Values addIndexed(GpuBuilder &builder, mlir::ValueRange totals,
                              mlir::ValueRange values);
GpuBuilder::Values narrowIndexed(GpuBuilder &builder, mlir::Type element,
                                 mlir::ValueRange totals);

/// Maps a kernel of one `plan.take` or `plan.add_at` to threads.
GpuMapping mapIndexed(mlir::Operation *op, const GpuModel &gpu);
/// Estimates what all its threads execute (codegen/gpu/operations.h).
uint64_t indexedOperations(mlir::Operation *op, const GpuModel &gpu);
/// Whether all places of such an op fit into 32 bits.
bool indexedFits32Bits(mlir::Operation *op);
/// One item of it.
void emitIndexed(GpuBuilder &builder, mlir::Operation *op, const GpuModel &gpu,
                 mlir::Value item, mlir::gpu::GPUFuncOp function,
                 const GpuThread &thread,
                 llvm::function_ref<GpuBuffer(mlir::Value)> bufferOf);

} // namespace gradus
