// Parts of tensors that lie evenly, for the ops that cut and for those that pad
// and gather.
#pragma once

#include "frontends/onnx/building.h"

namespace gradus::onnx {

/// Where a slice starts, how many elements it takes and in what steps.
struct Cut {
  int64_t start = 0, count, step = 1;
};

/// `input` with an axis for each cut.
mlir::Value cut(const Building &b, mlir::Value input, llvm::ArrayRef<Cut> cuts);

/// Numbers that later opsets give as an input, earlier ones as an attribute.
absl::StatusOr<llvm::SmallVector<int64_t>>
numbersOf(Importer &importer, const Node &node, int input, const char *key);

} // namespace gradus::onnx
