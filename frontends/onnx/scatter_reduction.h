// Scatters that combine what comes to one place by its maximum, minimum or
// product, data included.
#pragma once

#include "frontends/onnx/building.h"

namespace gradus::onnx {

/// `data` [L, P, R] combined with `updates` [L, J, R]; number `j` goes to the
/// place along P that `indices` [L, J, R] say (from the end where negative).
/// Ties share the gradient, as in PyTorch. `reduction` is "max", "min" or
/// "mul".
absl::StatusOr<mlir::Value>
scatterReduced(const Building &b, const std::string &reduction,
               mlir::Value data, mlir::Value indices, mlir::Value updates);

} // namespace gradus::onnx
