// Names the operands of an op that gradients follow.
#pragma once

#include "ir/gradus.h"

namespace gradus {

/// The operands to which an op may pass gradients.
inline llvm::MutableArrayRef<mlir::OpOperand> followed(mlir::Operation &op) {
  // gradus.stop_gradient passes them to its substitute, if it has one.
  return llvm::isa<StopGradientOp>(op) ? op.getOpOperands().drop_front()
                                       : op.getOpOperands();
}

} // namespace gradus
