// Flat kernels on a GPU: one launch for any number of tensors of any size.
//
// The kernel's arguments are a table in the device's memory, its rows, and the
// pieces of all rows. A row is a segment: the number of its first piece, its
// items, and the address of each of its buffers, 8 bytes each. A piece is
// `flatPiece` items. Blocks take pieces one after the other and look up the
// segment by bisection; a thread of a block reads and writes 128 bits at once,
// and elements one by one where a segment ends.
#pragma once

#include "codegen/gpu_builder.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace gradus {

/// Columns of the table before those of the buffers.
constexpr int64_t kFlatFirstPiece = 0, kFlatItems = 1, kFlatBuffers = 2;

/// Items that a thread takes at once: 128 bits of the narrowest elements, but
/// no more than 8.
int64_t flatVector(plan::KernelOp kernel);
/// Items of a piece: of which a thread of a block of 256 takes four vectors.
int64_t flatPiece(plan::KernelOp kernel);

/// The types of the arguments.
llvm::SmallVector<mlir::Type> flatArguments(mlir::MLIRContext *context);
void emitFlat(GpuBuilder &builder, plan::KernelOp kernel,
              mlir::gpu::GPUFuncOp function);

} // namespace gradus
