// The loop sizes of a gather or scatter_add, with its dimensions grouped: the
// verifier, the evaluator and code generation share them.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>

namespace gradus {

/// The sizes of `table[batch, outer, indices[batch, count], inner]`.
struct GatherSizes {
  int64_t batch = 1, outer = 1, extent = 1, count = 1, inner = 1;

  GatherSizes(llvm::ArrayRef<int64_t> table, llvm::ArrayRef<int64_t> indices,
              int64_t axis, int64_t batchDims)
      : extent(table[axis]) {
    for (auto [d, size] : llvm::enumerate(table))
      if (int64_t(d) != axis)
        (int64_t(d) < batchDims ? batch
         : int64_t(d) < axis    ? outer
                                : inner) *= size;
    for (int64_t size : indices.drop_front(batchDims))
      count *= size;
  }

  /// The position along the axis that an index means, or -1 if it is outside.
  int64_t placeOf(int64_t index) const {
    index += index < 0 ? extent : 0;
    return index >= 0 && index < extent ? index : -1;
  }
};

/// The shape of the slices that the indices name.
inline llvm::SmallVector<int64_t> gatheredShape(llvm::ArrayRef<int64_t> table,
                                                llvm::ArrayRef<int64_t> indices,
                                                int64_t axis,
                                                int64_t batchDims) {
  llvm::SmallVector<int64_t> shape(table.take_front(axis));
  llvm::append_range(shape, indices.drop_front(batchDims));
  llvm::append_range(shape, table.drop_front(axis + 1));
  return shape;
}

} // namespace gradus
