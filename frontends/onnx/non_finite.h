// Values that a model stores and no training recovers from.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

#include <string>

namespace gradus::onnx {

/// "3 NaN and 1 infinite of its 100 values"; empty where all are finite.
/// Infinite ones may be meant, as in a mask: they are told where
/// `tellsInfinite`.
std::string nonFiniteIn(mlir::ElementsAttr elements, bool tellsInfinite);

} // namespace gradus::onnx
