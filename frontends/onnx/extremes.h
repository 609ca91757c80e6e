// Which element of a row is the largest, or the least. NaN is more extreme than
// any number, so that it is not passed over in silence.
#pragma once

#include "frontends/onnx/building.h"

namespace gradus::onnx {

/// Which elements are what their row's extreme is, given in their shape.
mlir::Value isExtreme(const Building &b, mlir::Value input,
                      mlir::Value extreme);

/// The first place along an axis, which goes, where the largest element
/// (Reduction::max) or the least (min) stands; or the last one.
mlir::Value placeOfExtreme(const Building &b, Reduction kind, mlir::Value input,
                           int64_t axis, bool last = false);

} // namespace gradus::onnx
