// The ops inside a nest's regions as code of one GPU thread.
#pragma once

#include "codegen/gpu_builder.h"

namespace gradus {

/// Copies the ops of a region's block, with values for its arguments; what it
/// yields. Narrow floats are computed in f32 and rounded after each op, as on a
/// CPU. `indexOf` gives the position along a dimension, for `plan.index`.
GpuBuilder::Values emitRegion(GpuBuilder &builder, mlir::Region &region,
                              mlir::ValueRange arguments,
                              llvm::function_ref<mlir::Value(int64_t)> indexOf);

/// Narrow floats as f32 and back; other values stay.
mlir::Value widenGpuFloat(GpuBuilder &builder, mlir::Value value);
mlir::Value narrowGpuFloat(GpuBuilder &builder, mlir::Value value,
                           mlir::Type type);

} // namespace gradus
