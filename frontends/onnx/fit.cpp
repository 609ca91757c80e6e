// Rounds and wraps constants as the types that they stand for do.

#include "frontends/onnx/fit.h"

namespace gradus::onnx {

using llvm::APFloat;
using mlir::FloatType;

static double rounded(double value, const llvm::fltSemantics &semantics) {
  bool losesSome;
  APFloat number(value);
  number.convert(semantics, APFloat::rmNearestTiesToEven, &losesSome);
  number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesSome);
  return number.convertToDouble();
}

void fitToElement(Constant &constant) {
  if (auto type = llvm::dyn_cast<FloatType>(constant.element)) {
    for (double &value : constant.tensor.floats)
      value = type.isF64()   ? value
              : type.isF32() ? double(float(value))
                             : rounded(value, type.getFloatSemantics());
    return;
  }
  unsigned width = constant.element.getIntOrFloatBitWidth();
  for (int64_t &value : constant.tensor.integers)
    value = width == 1 ? value & 1 : llvm::SignExtend64(value, width);
}

} // namespace gradus::onnx
