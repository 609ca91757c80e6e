// Sorts the elements of each row with a sorting network, whose work grows with
// the row's length and the square of its logarithm.
#pragma once

#include "frontends/onnx/importer/building.h"

namespace gradus::onnx {

/// Returns the indices of the first `count` elements along `axis` by descending
/// key; of equal keys the earlier element comes first. No key may be NaN;
/// `least` is a lower bound of the keys.
mlir::Value sortedPlaces(const Building &b, mlir::Value keys, double least,
                         int64_t axis, int64_t count);

/// Gathers the elements of `input` at these indices along `axis`.
mlir::Value takenAt(const Building &b, mlir::Value input, mlir::Value places,
                    int64_t axis);

} // namespace gradus::onnx
