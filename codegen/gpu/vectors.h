// Vectors of elements: if neighbouring positions are neighbouring elements, a
// thread loads or stores up to 128 bits at once.
#pragma once

#include "codegen/gpu/builder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace gradus {

/// The maximum bytes of a load or store, and the maximum elements of a vector.
constexpr int64_t kVectorBytes = 16, kMostVector = 8;

/// A buffer in a kernel's memory: a 1-D memref, and the offset of its first
/// element.
struct GpuBuffer {
  mlir::Value memory; // memref<Nx..>
  mlir::Value offset; // null: 0
};

/// The extent of an item along a dimension.
int64_t extentOf(const Nest &nest, unsigned dim);
/// The last of the dimensions [first, end) whose extent is more than one; -1:
/// none.
int lastLong(const Nest &nest, unsigned first, unsigned end);

/// The number of positions along a dimension that a thread may process at once:
/// a power of two, or 1 if vectors do not fit. Each access that depends on the
/// dimension must be constant or contiguous along it; a vector of the narrowest
/// elements has 128 bits, and all vectors must be aligned, given that buffers
/// are aligned to 64 bytes. Without a reduction it is enough that the outputs
/// fit, if the inputs fit no dimension but are contiguous along this one: a
/// thread then reads their elements one by one (edges of images, parts of a
/// concatenation), but computes their offsets once.
int64_t widestVector(const Nest &nest, unsigned dim);
/// Whether an access can use vectors of this size along a dimension, or does
/// not depend on it.
bool fitsVector(const Access &access, unsigned dim, int64_t vector);

/// Loads neighbouring elements of a buffer as they are in memory, converts each
/// to the type in which it is computed, and stores them.
mlir::Value loadGpuVector(GpuBuilder &builder, const GpuBuffer &buffer,
                          mlir::Type element, mlir::Value index, int64_t count);
GpuBuilder::Values elementsOf(GpuBuilder &builder, mlir::Type element,
                              mlir::Value vector);
void storeGpuVector(GpuBuilder &builder, const GpuBuffer &buffer,
                    mlir::Type element, mlir::Value index,
                    mlir::ValueRange values);

/// Loads and stores one element of a buffer.
mlir::Value loadGpuElement(GpuBuilder &builder, const GpuBuffer &buffer,
                           mlir::Type element, mlir::Value index);
void storeGpuElement(GpuBuilder &builder, const GpuBuffer &buffer,
                     mlir::Type element, mlir::Value index, mlir::Value value);

/// Adds shared memory for so many elements, aligned for vectors: the default
/// would be the alignment of an element.
mlir::Value addShared(GpuBuilder &builder, mlir::gpu::GPUFuncOp function,
                      mlir::Type type, int64_t count);

} // namespace gradus
