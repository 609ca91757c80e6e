// The sizes of a gram and where its rows lie in the input, for the verifier,
// the evaluator and code generation alike.
#pragma once

#include "ir/build.h"
#include "ir/window.h"

#include "llvm/Support/MathExtras.h"

namespace gradus {

struct GramSizes {
  /// The dimension of the input that has the columns, or the channels.
  int64_t axis;
  /// The extents of the dimensions that number the rows: those of the input
  /// beside `axis` or, with a window, the batch and the positions of the
  /// window.
  llvm::SmallVector<int64_t> rows;
  /// Elements of a row for each channel: the taps of the window, or one.
  llvm::SmallVector<int64_t> taps;
  /// The equal parts of a row, the channels and the columns of each.
  int64_t groups, channels, columns;
  /// The columns of a block, and the blocks of a part.
  int64_t block, blocks;

  explicit GramSizes(GramOp op)
      : axis(op.getAxis().value_or(1)), groups(op.getGroups()),
        block(op.getBlock()) {
    llvm::ArrayRef<int64_t> shape = tensorType(op.getInput()).getShape();
    rows.assign(shape.begin(), shape.end());
    rows.erase(rows.begin() + axis);
    if (op.getWindow()) {
      Window window = windowOf(op, *op.getWindow());
      taps.assign(window.size.begin(), window.size.end());
      for (int64_t d = 0; d < window.rank(); ++d)
        rows[1 + d] = window.outputSize(d, shape[2 + d]);
    }
    channels = shape[axis] / groups;
    columns = channels * llvm::product_of(taps);
    blocks = llvm::divideCeil(columns, block);
  }

  /// The number of rows.
  int64_t count() const { return llvm::product_of(rows); }
  llvm::SmallVector<int64_t> result() const {
    return {groups * blocks, block, block};
  }
};

} // namespace gradus
