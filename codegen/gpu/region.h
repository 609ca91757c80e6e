// Emits the ops of a nest's regions for one GPU thread.
#pragma once

#include "codegen/gpu/builder.h"

namespace gradus {

/// Copies the ops of a region's block, with the given values as arguments;
/// returns the yielded values. Narrow floats are computed in f32 and rounded
/// after each op, as on a CPU. `indexOf` gives the position along a dimension,
/// for `plan.index`.
GpuBuilder::Values emitRegion(GpuBuilder &builder, mlir::Region &region,
                              mlir::ValueRange arguments,
                              llvm::function_ref<mlir::Value(int64_t)> indexOf);

/// Converts narrow floats to f32 and back; other values stay as they are.
mlir::Value widenGpuFloat(GpuBuilder &builder, mlir::Value value);
mlir::Value narrowGpuFloat(GpuBuilder &builder, mlir::Value value,
                           mlir::Type type);

} // namespace gradus
