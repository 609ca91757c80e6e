// Limits the size of tensors. Sizes come from users (`inputs.dims`), so their
// products are checked here before anything else computes with them.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace gradus {

/// The maximum bytes of one tensor: 4 TiB. Sums and products of the sizes of
/// such tensors, as in costs and offsets, fit 64 bits.
constexpr int64_t kMostTensorBytes = int64_t{1} << 42;

/// The bytes of a tensor; nothing if they exceed kMostTensorBytes.
std::optional<int64_t> checkedBytes(mlir::ShapedType type);

/// Reports an error for each op with a larger tensor, with its size.
mlir::LogicalResult verifySizes(mlir::ModuleOp module);

} // namespace gradus
