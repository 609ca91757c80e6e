// Flat kernels on a GPU: one launch for any number of tensors of any size.
//
// The arguments of the kernel are a table in the device's memory, its number of
// rows, and the total number of pieces. A row is a segment: the number of its
// first piece, its items, and the address of each of its buffers, 8 bytes each.
// A piece is `flatPiece` items. Each block processes one piece after another
// and finds the segment by bisection; a thread reads and writes 128 bits at
// once, and single elements at the end of a segment.
#pragma once

#include "codegen/gpu/builder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace gradus {

/// The columns of the table before those of the buffers.
constexpr int64_t kFlatFirstPiece = 0, kFlatItems = 1, kFlatBuffers = 2;

/// The items that a thread processes at once: 128 bits of the narrowest
/// elements, but at most 8 items.
int64_t flatVector(plan::KernelOp kernel);
/// The items of a piece, which is four vectors for each thread of a block of
/// 256.
int64_t flatPiece(plan::KernelOp kernel);

/// The types of the arguments.
llvm::SmallVector<mlir::Type> flatArguments(mlir::MLIRContext *context);
void emitFlat(GpuBuilder &builder, plan::KernelOp kernel,
              mlir::gpu::GPUFuncOp function);

} // namespace gradus
