// Depthwise convolutions and their gradients on blocked channels, as nests of
// our own between the library's calls: a vector has the channels of a block,
// so nothing has to be reordered on either side.
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// A depthwise convolution in two dimensions, or a gradient of one, that may
/// become nests on blocks. Its tensors are `[N, C, H, W]`, its weights
/// `[C, 1, h, w]`.
struct Depthwise {
  mlir::Operation *op;
  llvm::SmallVector<mlir::Value> activations; // that it reads
  mlir::Value weights;                        // that it reads; null: none
  llvm::ArrayRef<int64_t> window, strides, padsBegin, padsEnd, dilations;

  int64_t channels() const;
  /// Whether its result is the gradient of weights, which stays plain.
  bool givesWeights() const { return !weights; }
};

/// Nothing for other ops, and for windows that lie in the padding as a whole.
std::optional<Depthwise> depthwiseOf(mlir::Operation *op);

/// Computes it of activations in blocks of so many channels. Returns the result
/// in such blocks, or the gradient of plain weights.
mlir::Value onBlocks(mlir::OpBuilder &builder, const Depthwise &of,
                     mlir::ValueRange blocks, int64_t block);

} // namespace gradus
