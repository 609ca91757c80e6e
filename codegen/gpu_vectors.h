// Vectors of elements: where neighbouring positions are neighbouring elements,
// a thread takes several of them with one load or store of up to 128 bits.
#pragma once

#include "codegen/gpu_builder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace gradus {

/// Bytes that a load or a store moves at most, and the elements of a vector.
constexpr int64_t kVectorBytes = 16, kMostVector = 8;

/// Memory of a kernel: elements in a line, `offset` of them before the first.
struct GpuBuffer {
  mlir::Value memory; // memref<Nx..>
  mlir::Value offset; // null: 0
};

/// Positions of an item along a dimension.
int64_t extentOf(const Nest &nest, unsigned dim);
/// The last of the dimensions [first, end) with more than one; -1: none.
int lastLong(const Nest &nest, unsigned first, unsigned end);

/// Positions along a dimension that a thread may take at once: a power of two,
/// 1 where vectors do not fit. All accesses that know the dimension stay where
/// they are along it or go to the next element; vectors of the narrowest fill
/// 128 bits, and none begins where it may not. Buffers begin at multiples of 64
/// bytes. Without a reduction it is enough that outputs fit, where inputs would
/// fit nowhere but lie along the dimension: a thread reads their elements one
/// by one (edges of images, parts of a concatenation), and finds out once where
/// they lie.
int64_t widestVector(const Nest &nest, unsigned dim);
/// Whether an access takes vectors of so many along a dimension, or does not
/// know it.
bool fitsVector(const Access &access, unsigned dim, int64_t vector);

/// Neighbouring elements of a buffer, as they lie there; each of them, as it is
/// computed with; and back.
mlir::Value loadGpuVector(GpuBuilder &builder, const GpuBuffer &buffer,
                          mlir::Type element, mlir::Value index, int64_t count);
GpuBuilder::Values elementsOf(GpuBuilder &builder, mlir::Type element,
                              mlir::Value vector);
void storeGpuVector(GpuBuilder &builder, const GpuBuffer &buffer,
                    mlir::Type element, mlir::Value index,
                    mlir::ValueRange values);

/// An element of a buffer.
mlir::Value loadGpuElement(GpuBuilder &builder, const GpuBuffer &buffer,
                           mlir::Type element, mlir::Value index);
void storeGpuElement(GpuBuilder &builder, const GpuBuffer &buffer,
                     mlir::Type element, mlir::Value index, mlir::Value value);

/// Shared memory of so many elements, where vectors may begin: by itself it
/// would be aligned as an element is.
mlir::Value addShared(GpuBuilder &builder, mlir::gpu::GPUFuncOp function,
                      mlir::Type type, int64_t count);

} // namespace gradus
