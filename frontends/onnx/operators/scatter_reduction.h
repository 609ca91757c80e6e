// Scatters that combine elements at one index by maximum, minimum or product,
// the data included.
#pragma once

#include "frontends/onnx/importer/building.h"

namespace gradus::onnx {

/// Combines `data` [L, P, R] with `updates` [L, J, R]; update `j` goes to the
/// index along P in `indices` [L, J, R] (negative: from the end). Ties share
/// the gradient, as in PyTorch. `reduction` is "max", "min" or "mul".
absl::StatusOr<mlir::Value>
scatterReduced(const Building &b, const std::string &reduction,
               mlir::Value data, mlir::Value indices, mlir::Value updates);

} // namespace gradus::onnx
