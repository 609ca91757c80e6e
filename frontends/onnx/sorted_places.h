// The order of the elements of each row by a sorting network, whose work grows
// with the row and the square of its logarithm.
#pragma once

#include "frontends/onnx/building.h"

namespace gradus::onnx {

/// Where the first `count` elements along `axis` stand, from the largest key
/// down; of equal keys the earlier element comes first. No key is a NaN;
/// `least` is no larger than any.
mlir::Value sortedPlaces(const Building &b, mlir::Value keys, double least,
                         int64_t axis, int64_t count);

/// The elements of `input` that stand at these places along `axis`.
mlir::Value takenAt(const Building &b, mlir::Value input, mlir::Value places,
                    int64_t axis);

} // namespace gradus::onnx
