// Activations with their channels in blocks, as the library's convolutions want
// them: [N, C, H, W] becomes [N, C/16, H, W, 16]. Such a tensor has its real
// shape in the IR, so elementwise work and reductions run on it as on any
// other.
#pragma once

#include "codegen/library.h"
#include "ir/gradus.h"

namespace gradus {

/// The block of a layout that is its dimensions in order but for one block of
/// dimension 1, innermost; 0: the layout is not of this form.
int64_t channelBlockOf(const LibraryLayout &layout);

/// The layout of this shape with blocked channels.
LibraryLayout blockedLayout(llvm::ArrayRef<int64_t> shape, int64_t block);

/// [N, C, ...] as [N, C/block, ..., block].
llvm::SmallVector<int64_t> blockedShape(llvm::ArrayRef<int64_t> shape,
                                        int64_t block);

/// The library's reorder of a value between two layouts, as a tensor of `type`;
/// the value itself where they are the same.
mlir::Value reorder(mlir::OpBuilder &builder, mlir::Location location,
                    mlir::Value value, mlir::RankedTensorType type,
                    const LibraryLayout &from, const LibraryLayout &to);

/// The plain value's elements in blocks, and back, by a reshape and a
/// transpose: of any elements, where the library reorders f32 alone. `shape` is
/// the plain one.
mlir::Value blocked(mlir::OpBuilder &builder, mlir::Location location,
                    mlir::Value plain, int64_t block);
mlir::Value unblocked(mlir::OpBuilder &builder, mlir::Location location,
                      mlir::Value blocked, llvm::ArrayRef<int64_t> shape);

} // namespace gradus
