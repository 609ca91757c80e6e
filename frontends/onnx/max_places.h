// Where the elements that max pooling took stand in its input: the second
// output of MaxPool.
#pragma once

#include "frontends/onnx/building.h"

#include "ir/window.h"

namespace gradus::onnx {

/// The number that each element of the pool's input [N, C, ...] has in the
/// whole tensor, of those that won: `inWindow` says which of their windows did.
/// Rows are counted first, unless `columnMajor` says that the first spatial
/// axis is.
mlir::Value placesOfMaxima(const Building &b, mlir::Value inWindow,
                           const Window &window, llvm::ArrayRef<int64_t> input,
                           bool columnMajor);

} // namespace gradus::onnx
