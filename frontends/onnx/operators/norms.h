// Products along an axis, for handlers of other families.
#pragma once

#include "frontends/onnx/importer/building.h"

namespace gradus::onnx {

/// The product of the elements along an axis, which is removed.
mlir::Value productAlong(const Building &b, mlir::Value x, int64_t axis);

} // namespace gradus::onnx
