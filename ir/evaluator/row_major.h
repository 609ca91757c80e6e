// Offsets in tensors whose elements are in row-major order, for the reference
// evaluator.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace gradus {

/// The offset of the element at `index`.
inline int64_t offsetOf(llvm::ArrayRef<int64_t> index,
                        llvm::ArrayRef<int64_t> shape) {
  int64_t offset = 0;
  for (size_t d = 0; d < shape.size(); ++d)
    offset = offset * shape[d] + index[d];
  return offset;
}

/// Calls `visit(index)` for each index of `shape`, the last dimension fastest.
template <typename Visit>
void forEachIndex(llvm::ArrayRef<int64_t> shape, Visit visit) {
  for (int64_t size : shape)
    if (size == 0)
      return;
  llvm::SmallVector<int64_t> index(shape.size(), 0);
  while (true) {
    visit(llvm::ArrayRef<int64_t>(index));
    int64_t d = shape.size() - 1;
    while (d >= 0 && ++index[d] == shape[d])
      index[d--] = 0;
    if (d < 0)
      return;
  }
}

/// How far apart neighbours along each dimension are.
inline llvm::SmallVector<int64_t> stepsOf(llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> steps(shape.size(), 1);
  for (int64_t d = int64_t(shape.size()) - 2; d >= 0; --d)
    steps[d] = steps[d + 1] * shape[d + 1];
  return steps;
}

/// Calls `visit(offset)` for each index of `shape`, the last dimension fastest.
/// The first offset is `first`, and one position along dimension `d` adds
/// `steps[d]`.
template <typename Visit>
void forEachOffset(llvm::ArrayRef<int64_t> shape, llvm::ArrayRef<int64_t> steps,
                   int64_t first, Visit visit) {
  if (shape.empty())
    return visit(first);
  forEachIndex(shape.drop_back(), [&](llvm::ArrayRef<int64_t> index) {
    int64_t offset = first;
    for (size_t d = 0; d < index.size(); ++d)
      offset += index[d] * steps[d];
    for (int64_t i = 0; i < shape.back(); ++i, offset += steps.back())
      visit(offset);
  });
}

} // namespace gradus
