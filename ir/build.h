// Builders for graphs: small functions that return the value of an op whose
// result type follows from its operands. Passes, gradient rules, decompositions
// and frontends use them. Constants are folded at once.
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// The type of a tensor value.
mlir::RankedTensorType tensorType(mlir::Value value);

/// The axes 0, 1, ..., rank - 1 without `axes`, which are sorted.
llvm::SmallVector<int64_t> axesExcept(int64_t rank,
                                      llvm::ArrayRef<int64_t> axes);
/// The axes 0, 1, ..., rank - 1.
llvm::SmallVector<int64_t> allAxes(int64_t rank);

/// A constant with `number` in every element; `type` is a tensor or a scalar
/// type, of floats or integers.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
                  double number);
/// A constant with `number` in every element, of the shape and element type of
/// `like`.
mlir::Value splatLike(mlir::OpBuilder &builder, mlir::Value like,
                      double number);

mlir::Value reshape(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, llvm::ArrayRef<int64_t> shape);
mlir::Value transpose(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, llvm::ArrayRef<int64_t> permutation);
/// Dimension i of `value` becomes dimension `dimensions[i]` of `shape`.
mlir::Value broadcast(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, llvm::ArrayRef<int64_t> shape,
                      llvm::ArrayRef<int64_t> dimensions);
/// Broadcasts a rank-0 value to `shape`.
mlir::Value broadcastScalar(mlir::OpBuilder &builder, mlir::Location loc,
                            mlir::Value scalar, llvm::ArrayRef<int64_t> shape);
/// Broadcasts the result of a reduction over `axes` back to `shape`.
mlir::Value broadcastAlong(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value value, llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<int64_t> axes);
/// Broadcasts by NumPy's rule: shapes are aligned at their last dimension, and
/// size 1 repeats.
mlir::Value broadcastLast(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, llvm::ArrayRef<int64_t> shape);

mlir::Value reduce(mlir::OpBuilder &builder, mlir::Location loc, Reduction kind,
                   mlir::Value value, llvm::ArrayRef<int64_t> axes);
mlir::Value sum(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                llvm::ArrayRef<int64_t> axes);
mlir::Value mean(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::Value value, llvm::ArrayRef<int64_t> axes);

/// `a` [.., m, k] (or transposed) times `b` [.., k, n] (or transposed), of the
/// operands' element type or of `element`.
mlir::Value matmul(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value a,
                   mlir::Value b, bool transposeA = false,
                   bool transposeB = false, mlir::Type element = {});

/// A tensor of integers whose elements are their indices along `axis`.
mlir::Value iota(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::RankedTensorType type, int64_t axis);

/// Converts the elements to another type: a narrower or wider float, or a float
/// made of an integer or boolean.
mlir::Value convert(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Value value, mlir::Type element);

/// The type to compute in, so that sums keep their precision: f32 for narrower
/// floats, else the type itself.
mlir::Type computeType(mlir::Type element);

/// `value` in `element`, a wider type. If `value` was just rounded from that
/// type, the value before the rounding is used.
mlir::Value unrounded(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value value, mlir::Type element);

} // namespace gradus
