// The check that most verifiers make: a type is compared with the one that
// follows from the operands.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace gradus {

/// Reports "expected `what` of type X, found Y" unless they are the same.
inline mlir::LogicalResult verifyType(mlir::Operation *op, llvm::StringRef what,
                                      mlir::Type found,
                                      llvm::ArrayRef<int64_t> shape,
                                      mlir::Type element) {
  auto expected = mlir::RankedTensorType::get(shape, element);
  if (found == expected)
    return mlir::success();
  return op->emitOpError("expected ")
         << what << " of type " << expected << ", found " << found;
}

} // namespace gradus
