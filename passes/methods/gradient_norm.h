// Norms of gradients, for clipping and the metric `gradient_norm`.
#pragma once

#include "ir/arithmetic.h"

namespace gradus {

/// Widens a value, since gradients may be narrow but norms are not.
inline mlir::Value wide(const Arithmetic &math, mlir::Value value) {
  return convert(math.builder, math.loc, value,
                 computeType(tensorType(value).getElementType()));
}

inline mlir::Value sumOfSquares(const Arithmetic &math, mlir::Value value) {
  mlir::Value numbers = wide(math, value);
  return sum(math.builder, math.loc, math.multiply(numbers, numbers),
             allAxes(tensorType(value).getRank()));
}

/// Converts both to the wider of the two types: f32 and f64 give f64.
inline std::pair<mlir::Value, mlir::Value> alike(const Arithmetic &math,
                                                 mlir::Value a, mlir::Value b) {
  mlir::Type left = tensorType(a).getElementType(),
             right = tensorType(b).getElementType();
  mlir::Type wider =
      left.getIntOrFloatBitWidth() < right.getIntOrFloatBitWidth() ? right
                                                                   : left;
  return {convert(math.builder, math.loc, a, wider),
          convert(math.builder, math.loc, b, wider)};
}

/// The sum of the squares of all elements of all `gradients`, of which there is
/// at least one. Each part is computed right after its gradient, which is still
/// in cache, and with its location in the model.
inline mlir::Value sumOfAllSquares(
    mlir::OpBuilder &builder,
    llvm::ArrayRef<std::pair<mlir::Location, mlir::Value>> gradients) {
  mlir::Value squares;
  for (auto [loc, gradient] : gradients) {
    mlir::OpBuilder behind(builder.getContext());
    behind.setInsertionPointAfterValue(gradient);
    mlir::Value part = sumOfSquares(Arithmetic(behind, loc), gradient);
    Arithmetic math(builder, loc);
    if (squares)
      std::tie(squares, part) = alike(math, squares, part);
    squares = squares ? math.add(squares, part) : part;
  }
  return squares;
}

} // namespace gradus
