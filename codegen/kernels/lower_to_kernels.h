// The parts of lower_to_kernels: each op that is a kernel of its own has a
// source.
#pragma once

#include "codegen/kernels/form_kernels_outline.h"

namespace gradus {

/// Lets an attention whose queries, keys and values are widened bf16 read these
/// themselves, and its gradient rounded: its matmuls then are of pairs of them.
/// Other ops stay as they are.
void readPairs(mlir::Operation *op);

/// Builds a launch of the kernel that computes the op, and what there is beside
/// it; returns the values that stand for the op's results, or none if it is too
/// large for a kernel.
llvm::SmallVector<mlir::Value>
lowerToKernel(mlir::OpBuilder &builder, AttentionOp op, KernelTable &kernels);
llvm::SmallVector<mlir::Value> lowerToKernel(mlir::OpBuilder &builder,
                                             AttentionBackwardOp op,
                                             KernelTable &kernels);
llvm::SmallVector<mlir::Value> lowerToKernel(mlir::OpBuilder &builder,
                                             GramOp op, KernelTable &kernels);
llvm::SmallVector<mlir::Value>
lowerToKernel(mlir::OpBuilder &builder, InverseOp op, KernelTable &kernels);
llvm::SmallVector<mlir::Value> lowerToKernel(mlir::OpBuilder &builder,
                                             plan::WinogradOp op,
                                             KernelTable &kernels);
/// None either for another call than a large matmul. `threads` is the number of
/// threads that it is divided for.
llvm::SmallVector<mlir::Value> lowerToKernel(mlir::OpBuilder &builder,
                                             plan::LibraryOp op,
                                             KernelTable &kernels,
                                             int64_t threads);
/// The same for one that is the gradient of weights.
llvm::SmallVector<mlir::Value> lowerWinogradWeights(mlir::OpBuilder &builder,
                                                    plan::WinogradOp op,
                                                    KernelTable &kernels);
/// The same for a gradient of a convolution whose output a max pool reads, and
/// none for another, or if all elements take less time than those that won.
llvm::SmallVector<mlir::Value> lowerPooled(mlir::OpBuilder &builder,
                                           mlir::Operation *op,
                                           KernelTable &kernels);

} // namespace gradus
