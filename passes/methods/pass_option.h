// Options of passes that stand at several places of the pipeline, and have each
// to know its own: `at=before_clip`.
#pragma once

#include "ir/gradus.h"

#include "llvm/ADT/StringExtras.h"

namespace gradus {

/// Fails where an option of a pass is none of the values that it may have.
inline mlir::LogicalResult verifyOption(ProgramOp program, llvm::StringRef pass,
                                        llvm::StringRef option,
                                        llvm::StringRef found,
                                        llvm::ArrayRef<llvm::StringRef> known) {
  if (llvm::is_contained(known, found))
    return mlir::success();
  return program.emitError()
         << pass << ": " << option << ": unknown value \"" << found
         << "\"; there are " << llvm::join(known, ", ");
}

} // namespace gradus
