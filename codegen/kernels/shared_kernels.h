// Finds kernels whose machine code is the same: they run one item at a time,
// and differ in how many items there are, as inverses of matrices of a size do.
#pragma once

#include "codegen/plan/plan.h"

namespace gradus {

/// The number of the kernel whose code each kernel runs: of the first that is
/// equal but for the number of items, most often its own.
llvm::SmallVector<size_t> sharedCode(llvm::ArrayRef<plan::KernelOp> kernels);

} // namespace gradus
