// Replaces attention by calls of a library that supports it in 16 bits: on
// GPUs, if the recipe computes in 16 bits.
#pragma once

#include "codegen/libraries/library.h"
#include "codegen/plan/plan.h"

namespace gradus {

class AttentionSelection {
public:
  AttentionSelection(const Library &library, GraphOp graph);

  /// The size of attention or its gradient if the library supports it; nothing
  /// for other ops. It must be called in the graph's order, as a gradient goes
  /// to the library only if its attention did.
  std::optional<ProductSize> sizeOf(mlir::Operation *op) const;

  /// Replaces the op by a call, with tensors in the layout of the projections:
  /// `[N, T, H, D]`.
  plan::LibraryOp select(mlir::Operation *op);

  /// Cleans up after all calls were selected: removes conversions to f32 and
  /// back around reshapes and transposes, and erases the replaced ops.
  void tidy();

private:
  plan::LibraryOp select(AttentionOp op);
  plan::LibraryOp select(AttentionBackwardOp op);
  /// The call whose gradient this is; null if there is none.
  plan::LibraryOp forwardOf(AttentionBackwardOp op) const;
  void roundBeforeViews(mlir::Block &block) const;
  mlir::Value operand(mlir::OpBuilder &builder, mlir::Value value) const;
  mlir::Value mask(mlir::OpBuilder &builder, mlir::Value value);
  mlir::Value result(mlir::OpBuilder &builder, mlir::Value value,
                     mlir::Type type) const;
  plan::LibraryOp call(mlir::OpBuilder &builder, mlir::Operation *op,
                       llvm::ArrayRef<mlir::Value> operands,
                       llvm::ArrayRef<mlir::Type> results,
                       const AttentionSize &size, mlir::FloatAttr scale,
                       bool causal, mlir::Value mask) const;

  const Library &library_;
  GraphOp graph_;
  mlir::Type narrow_; // null: the recipe computes in f32
  /// Each attention that went to the library and its call, by the logsumexp.
  llvm::DenseMap<mlir::Value, std::pair<AttentionOp, plan::LibraryOp>> calls_;
  /// The masks in the library's form, by the graph's.
  llvm::DenseMap<mlir::Value, mlir::Value> masks_;
};

} // namespace gradus
