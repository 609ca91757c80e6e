// Activations with blocked channels, as the library's convolutions expect them:
// [N, C, H, W] becomes [N, C/16, H, W, 16]. The IR has the real shape of such a
// tensor, so elementwise ops and reductions need no special case.
#pragma once

#include "codegen/libraries/library.h"
#include "ir/gradus.h"

namespace gradus {

/// The block size of a layout whose only block is of dimension 1, innermost,
/// with the other dimensions in order; 0 for other layouts.
int64_t channelBlockOf(const LibraryLayout &layout);

/// The layout of a tensor of this shape with blocked channels.
LibraryLayout blockedLayout(llvm::ArrayRef<int64_t> shape, int64_t block);

/// The shape [N, C, ...] with blocked channels: [N, C/block, ..., block].
llvm::SmallVector<int64_t> blockedShape(llvm::ArrayRef<int64_t> shape,
                                        int64_t block);

/// Reorders a value between two layouts by a library call; the result has the
/// given type. Returns the value itself if the layouts are the same.
mlir::Value reorder(mlir::OpBuilder &builder, mlir::Location location,
                    mlir::Value value, mlir::RankedTensorType type,
                    const LibraryLayout &from, const LibraryLayout &to);

/// Blocks the channels of a plain value, and unblocks them, by a reshape and a
/// transpose. This works for all element types, while the library reorders only
/// f32. `shape` is the plain one.
mlir::Value blocked(mlir::OpBuilder &builder, mlir::Location location,
                    mlir::Value plain, int64_t block);
mlir::Value unblocked(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::Value blocked, llvm::ArrayRef<int64_t> shape);

} // namespace gradus
