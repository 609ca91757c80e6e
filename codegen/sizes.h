// How large tensors may be. Sizes come from users (`inputs.dims`), so that
// their products are checked here, before anything else computes with them.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include <optional>

namespace gradus {

/// The most bytes of one tensor: 4 TiB. Sums and products of the sizes of such
/// tensors, as costs and offsets need them, fit 64 bits.
constexpr int64_t kMostTensorBytes = int64_t{1} << 42;

/// Bytes of a tensor; nothing where they are more than kMostTensorBytes.
std::optional<int64_t> checkedBytes(mlir::ShapedType type);

/// Refuses a module with a larger tensor: an error at its op, with its size.
mlir::LogicalResult verifySizes(mlir::ModuleOp module);

} // namespace gradus
