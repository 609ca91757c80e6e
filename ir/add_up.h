// Sums the gradients that the uses of a value contribute, such that many uses
// are cheap.
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// The sum of one or more contributions. Gradients of slices of a tensor become
/// one tensor, without a sum. Many matmuls over rows (a weight used in each
/// step of a recurrence) become one matmul.
mlir::Value addUp(mlir::OpBuilder &builder, mlir::Location loc,
                  llvm::ArrayRef<mlir::Value> contributions);

} // namespace gradus
