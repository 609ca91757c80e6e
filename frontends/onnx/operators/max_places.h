// The second output of MaxPool: indices of the maxima in its input.
#pragma once

#include "frontends/onnx/importer/building.h"

#include "ir/window.h"

namespace gradus::onnx {

/// Returns the index of each maximum in the whole tensor [N, C, ...];
/// `inWindow` has its index in its window. Indices are row-major, or with
/// `columnMajor` the first spatial axis varies fastest.
mlir::Value placesOfMaxima(const Building &b, mlir::Value inWindow,
                           const Window &window, llvm::ArrayRef<int64_t> input,
                           bool columnMajor);

} // namespace gradus::onnx
