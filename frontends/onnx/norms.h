// What handlers of other families need of the norms' products.
#pragma once

#include "frontends/onnx/building.h"

namespace gradus::onnx {

/// The product of the elements along an axis, which disappears.
mlir::Value productAlong(const Building &b, mlir::Value x, int64_t axis);

} // namespace gradus::onnx
