// The checks of all ops that slide a window over 1-3 spatial dimensions.
#pragma once

#include "ir/window.h"

#include "mlir/IR/Operation.h"

namespace gradus {

inline mlir::LogicalResult verifyCount(mlir::Operation *op,
                                       llvm::StringRef what,
                                       llvm::ArrayRef<int64_t> values,
                                       int64_t expected, int64_t smallest) {
  if (int64_t(values.size()) != expected)
    return op->emitOpError("has ") << values.size() << ' ' << what << " for "
                                   << expected << " spatial dimensions";
  for (int64_t value : values)
    if (value < smallest)
      return op->emitOpError("has ") << value << " among its " << what
                                     << ", expected at least " << smallest;
  return mlir::success();
}

/// Verifies that each attribute has one entry for each spatial dimension, none
/// of them absurd, and that at least one window fits.
inline mlir::LogicalResult verifyWindow(mlir::Operation *op,
                                        const Window &window,
                                        llvm::ArrayRef<int64_t> spatialSizes) {
  int64_t rank = spatialSizes.size();
  if (rank < 1 || rank > 3)
    return op->emitOpError("has ")
           << rank << " spatial dimensions, expected 1 to 3";
  if (mlir::failed(verifyCount(op, "window sizes", window.size, rank, 1)) ||
      mlir::failed(verifyCount(op, "strides", window.strides, rank, 1)) ||
      mlir::failed(
          verifyCount(op, "pads at the begin", window.padsBegin, rank, 0)) ||
      mlir::failed(
          verifyCount(op, "pads at the end", window.padsEnd, rank, 0)) ||
      mlir::failed(verifyCount(op, "dilations", window.dilations, rank, 1)))
    return mlir::failure();
  for (int64_t d = 0; d < rank; ++d)
    if (window.outputSize(d, spatialSizes[d]) < 1)
      return op->emitOpError("has a window that reaches over ")
             << window.reach(d) << " elements of spatial dimension " << d
             << ", whose padded size is "
             << spatialSizes[d] + window.padsBegin[d] + window.padsEnd[d];
  return mlir::success();
}

} // namespace gradus
