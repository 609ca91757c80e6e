// The parts of lower_to_nests: ops that slide windows, and those that take
// tensors apart, stand by themselves.
#pragma once

#include "codegen/nest.h"

#include <functional>

namespace gradus {

/// The code of a region that hands its first value on.
llvm::SmallVector<mlir::Value> passOn(mlir::OpBuilder &, mlir::Location,
                                      mlir::ValueRange values);

/// The code of a region that multiplies its two values, in f32 if they are
/// narrower.
llvm::SmallVector<mlir::Value> multiplyWide(mlir::OpBuilder &, mlir::Location,
                                            mlir::ValueRange values);
/// The code of a region that hands its first value on as an element of `type`.
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

/// Writes a convolution or pooling op as nests and returns its results' values;
/// nothing if `op` is no such op.
llvm::SmallVector<mlir::Value> lowerWindowOp(mlir::OpBuilder &builder,
                                             mlir::Operation *op);

/// Writes an op that takes or puts together parts as nests (or, where indices
/// decide, as a command) and returns its result's value; null if `op` is none.
mlir::Value lowerIndexingOp(mlir::OpBuilder &builder, mlir::Operation *op);

} // namespace gradus
