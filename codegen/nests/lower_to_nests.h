// The parts of lower_to_nests, which has sources of its own for ops with
// windows and for ops that slice, join or gather tensors.
#pragma once

#include "codegen/plan/nest.h"

#include <functional>

namespace gradus {

/// Builds a region that yields its first value.
llvm::SmallVector<mlir::Value> passOn(mlir::OpBuilder &, mlir::Location,
                                      mlir::ValueRange values);

/// Builds a region that multiplies its two values, in f32 if they are narrower.
llvm::SmallVector<mlir::Value> multiplyWide(mlir::OpBuilder &, mlir::Location,
                                            mlir::ValueRange values);
/// Returns a builder of a region that yields its first value converted to the
/// element type of `type`.
std::function<llvm::SmallVector<mlir::Value>(mlir::OpBuilder &, mlir::Location,
                                             mlir::ValueRange)>
roundTo(mlir::RankedTensorType type);

/// A nest that computes each element of a tensor of type `result` from `reads`
/// at its position.
plan::NestOp elementwiseNest(mlir::OpBuilder &builder, mlir::Location location,
                             const Domain &domain,
                             llvm::ArrayRef<mlir::AffineExpr> position,
                             mlir::Type result, llvm::ArrayRef<NestRead> reads,
                             ScalarBody then);

/// Sums what `read` finds over the reduced dimensions of the domain, rounded to
/// `result`; `label` is that of the nest.
mlir::Value sumNest(mlir::OpBuilder &builder, mlir::Location location,
                    const Domain &domain,
                    llvm::ArrayRef<mlir::AffineExpr> position,
                    mlir::RankedTensorType result, const NestRead &read,
                    llvm::StringRef label);

/// Lowers a convolution or pooling op to nests and returns the values of its
/// results; nothing for other ops. A vector has `lanes` numbers; 0: there are
/// none.
llvm::SmallVector<mlir::Value>
lowerWindowOp(mlir::OpBuilder &builder, mlir::Operation *op, int64_t lanes);

/// Lowers an op that slices, joins or gathers to nests (or to a command if it
/// has indices) and returns the value of its result; null for other ops.
mlir::Value lowerIndexingOp(mlir::OpBuilder &builder, mlir::Operation *op);

/// Lowers the selection of the largest elements to a command and returns its
/// results; nothing for other ops.
llvm::SmallVector<mlir::Value> lowerSelection(mlir::OpBuilder &builder,
                                              mlir::Operation *op);

/// Lowers a collective to the commands that begin and end it; nothing for other
/// ops.
llvm::SmallVector<mlir::Value> lowerCollective(mlir::OpBuilder &builder,
                                               mlir::Operation *op);

/// Removes the borders between kernels, which are sums along another axis than
/// that of processes: what they give is what they take.
void removeBorders(mlir::Block &block);

} // namespace gradus
