// Finds the largest or smallest element of a row. NaN counts as more extreme
// than any number, so that it is not ignored.
#pragma once

#include "frontends/onnx/importer/building.h"

namespace gradus::onnx {

/// A mask of the elements that are equal to their row's extreme, which has been
/// broadcast.
mlir::Value isExtreme(const Building &b, mlir::Value input,
                      mlir::Value extreme);

/// Returns the first index (or with `last` the last) along an axis of the
/// largest (Reduction::max) or smallest (min) element. The axis is removed.
mlir::Value placeOfExtreme(const Building &b, Reduction kind, mlir::Value input,
                           int64_t axis, bool last = false);

} // namespace gradus::onnx
