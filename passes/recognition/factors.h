// Matches constant factors in formulas, for passes that recognize them.
#pragma once

#include "ir/gradus.h"

#include "mlir/IR/Matchers.h"

#include <optional>

namespace gradus {

/// The value of a splat float constant.
inline std::optional<double> numberOf(mlir::Value value) {
  mlir::DenseElementsAttr elements;
  if (!mlir::matchPattern(value, mlir::m_Constant(&elements)) ||
      !elements.isSplat() ||
      !llvm::isa<mlir::FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<llvm::APFloat>().convertToDouble();
}

/// Strips constant factors and divisors off a value, collecting them in
/// `scale`.
inline mlir::Value withoutFactors(mlir::Value value, double &scale) {
  for (;;) {
    auto product = value.getDefiningOp<mlir::arith::MulFOp>();
    auto quotient = value.getDefiningOp<mlir::arith::DivFOp>();
    if (!product && !quotient)
      return value;
    mlir::Operation *op = value.getDefiningOp();
    auto left = product ? numberOf(op->getOperand(0)) : std::nullopt,
         right = numberOf(op->getOperand(1));
    if (!left && !right)
      return value;
    scale = product ? scale * (right ? *right : *left) : scale / *right;
    value = op->getOperand(right ? 0 : 1);
  }
}

} // namespace gradus
