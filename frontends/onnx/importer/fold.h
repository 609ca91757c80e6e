// Operations on constants, which the op tables use to fold nodes.
#pragma once

#include "frontends/onnx/importer/constant.h"

#include "absl/status/statusor.h"

namespace gradus::onnx {

/// The shape that two shapes broadcast to, as in NumPy.
absl::StatusOr<llvm::SmallVector<int64_t>>
commonShape(llvm::ArrayRef<int64_t> a, llvm::ArrayRef<int64_t> b);

/// Converts an axis counted from the end to one counted from the front.
absl::StatusOr<int64_t> normalAxis(int64_t axis, int64_t rank);
absl::StatusOr<llvm::SmallVector<int64_t>>
normalAxes(llvm::ArrayRef<int64_t> axes, int64_t rank);

/// The permutation that moves the `count` axes from `from` on to begin at `to`.
llvm::SmallVector<int64_t> axesMoved(int64_t rank, int64_t from, int64_t to,
                                     int64_t count);

/// Gathers from a constant: the result at each index is the input's element at
/// the row-major position `place(index)`.
Constant gathered(const Constant &input, llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> place);

/// Broadcasts the input to `shape`, as NumPy does.
Constant expanded(const Constant &input, llvm::ArrayRef<int64_t> shape);

/// The row-major position of an index.
int64_t positionOf(llvm::ArrayRef<int64_t> index,
                   llvm::ArrayRef<int64_t> shape);

/// Calls `visit` with each index of `shape` in row-major order.
void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

} // namespace gradus::onnx
