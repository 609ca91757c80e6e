// The position of the mask among the inputs of an attention command.
#pragma once

#include "runtime/flat.h"

namespace gradus::runtime {

/// The number of inputs of attention or its gradient before the mask, which is
/// the last.
inline size_t inputsBeforeMask(artifact::LibraryOp op) {
  return op == artifact::LibraryOp::attention_backward ? 6 : 3;
}

/// Whether a verified command of attention has a mask.
inline bool hasMask(const artifact::LibraryCommand &command) {
  return countOf(command.inputs()) > inputsBeforeMask(command.op_type());
}

} // namespace gradus::runtime
