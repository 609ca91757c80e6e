// Slices with steps, for ops that slice, pad and gather.
#pragma once

#include "frontends/onnx/importer/building.h"

namespace gradus::onnx {

/// The start, number of elements and step of a slice along one axis.
struct Cut {
  int64_t start = 0, count, step = 1;
};

/// Slices `input`, with one cut for each axis.
mlir::Value cut(const Building &b, mlir::Value input, llvm::ArrayRef<Cut> cuts);

/// Reads numbers that later opsets have as an input, earlier ones as an
/// attribute.
absl::StatusOr<llvm::SmallVector<int64_t>>
numbersOf(Importer &importer, const Node &node, int input, const char *key);

} // namespace gradus::onnx
