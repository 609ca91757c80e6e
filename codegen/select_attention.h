// Gives attention to a library that has it in 16 bits: on cards, where the
// recipe computes in 16 bits.
#pragma once

#include "codegen/library.h"
#include "codegen/plan.h"

namespace gradus {

class AttentionSelection {
public:
  AttentionSelection(const Library &library, GraphOp graph);

  /// How large attention or a gradient of it is that the library can take;
  /// nothing for all other ops. Asked for in the graph's order, as a gradient
  /// goes to the library only if its attention went.
  std::optional<ProductSize> sizeOf(mlir::Operation *op) const;

  /// Replaces it by a call, which takes and gives tensors as projections have
  /// them: `[N, T, H, D]`.
  plan::LibraryOp select(mlir::Operation *op);

  /// Once all are selected: what was widened for views of it and rounded again
  /// stays as it is, and what the calls replace goes.
  void tidy();

private:
  plan::LibraryOp select(AttentionOp op);
  plan::LibraryOp select(AttentionBackwardOp op);
  /// The call whose gradient this is; null: there is none.
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
  /// What went to the library, and its call, by the logsumexp.
  llvm::DenseMap<mlir::Value, std::pair<AttentionOp, plan::LibraryOp>> calls_;
  /// Masks as the library takes them, by what the graph has.
  llvm::DenseMap<mlir::Value, mlir::Value> masks_;
};

} // namespace gradus
