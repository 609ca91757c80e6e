// Arithmetic on constants, in one loop each; what the families' tables fold
// with.
#pragma once

#include "frontends/onnx/constant.h"

#include "absl/status/statusor.h"

namespace gradus::onnx {

/// NumPy's common shape of two shapes.
absl::StatusOr<llvm::SmallVector<int64_t>>
commonShape(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// Axes counted from the end become axes counted from the front.
absl::StatusOr<int64_t> normalAxis(int64_t axis, int64_t rank);
absl::StatusOr<llvm::SmallVector<int64_t>>
normalAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);

/// The result's element at each index is the input's element at `place(index)`,
/// a row-major position.
Constant gathered(const Constant &input, llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> place);

/// The input repeated up to `shape`, by NumPy's rule.
Constant expanded(const Constant &input, llvm::ArrayRef<int64_t> shape);

/// Row-major position of an index.
int64_t positionOf(llvm::ArrayRef<int64_t> index,
                   llvm::ArrayRef<int64_t> shape);

/// Calls `visit` with each index of `shape` in row-major order.
void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

} // namespace gradus::onnx
