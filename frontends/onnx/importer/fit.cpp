// Rounds and wraps constants as their element types do.

#include "frontends/onnx/importer/fit.h"

#include "ir/rounded.h"

namespace gradus::onnx {

void fitToElement(Constant &constant) {
  if (auto type = llvm::dyn_cast<mlir::FloatType>(constant.element)) {
    for (double &value : constant.tensor.floats)
      value = rounded(value, type);
    return;
  }
  unsigned width = constant.element.getIntOrFloatBitWidth();
  for (int64_t &value : constant.tensor.integers)
    value = width == 1 ? value & 1 : llvm::SignExtend64(value, width);
}

} // namespace gradus::onnx
