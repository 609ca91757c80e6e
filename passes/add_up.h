// The gradient of a value that is used more than once: the sum of what its uses
// give, written so that many uses cost little.
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// The sum of one or more contributions. Slices of a tensor give gradients of
/// its parts: those become one tensor, without a sum. Many products of rows
/// with rows (a weight used in each step of a recurrence) become one product.
mlir::Value addUp(mlir::OpBuilder &builder, mlir::Location loc,
                  llvm::ArrayRef<mlir::Value> contributions);

} // namespace gradus
