// Gathers and sums at indices on a GPU: a thread for each element that is
// written, so that sums are in the order of the indices.
#pragma once

#include "codegen/gpu_vectors.h"

namespace gradus {

/// Elements that a `plan.take` or `plan.add_at` writes.
int64_t indexedPoints(mlir::Operation *op);
/// One of them.
void emitIndexed(GpuBuilder &builder, mlir::Operation *op, mlir::Value point,
                 llvm::function_ref<GpuBuffer(mlir::Value)> bufferOf);

} // namespace gradus
