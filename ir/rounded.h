// Rounding of a number to an element type.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/APFloat.h"

namespace gradus {

/// The nearest number of the type; a tie goes to the even one.
inline double rounded(double number, mlir::FloatType type) {
  if (type.isF64())
    return number;
  if (type.isF32())
    return static_cast<float>(number);
  using llvm::APFloat;
  bool inexact;
  APFloat value(number);
  value.convert(type.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &inexact);
  value.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &inexact);
  return value.convertToDouble();
}

} // namespace gradus
