// Finds stored values from which no training recovers.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"

#include <string>

namespace gradus::onnx {

/// Returns "3 NaN and 1 infinite of its 100 values"; empty if all are finite.
/// Infinite values may be intended, as in a mask: they are reported only with
/// `tellsInfinite`.
std::string nonFiniteIn(mlir::ElementsAttr elements, bool tellsInfinite);

} // namespace gradus::onnx
