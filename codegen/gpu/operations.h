// Estimates the instructions of a kernel, which bound a kernel that moves few
// bytes for its work. `inspect` shows the estimate, and tests/gpu/predict.py
// divides it by the rate at which a GPU issues instructions.
#pragma once

#include "codegen/gpu/model.h"
#include "codegen/plan/plan.h"

namespace gradus {

/// Counts instructions of all threads together, each a load, a store or an
/// operation of one element: of a launch, or of one item of a flat kernel.
/// Vectors count by their elements, which are taken apart and widened one by
/// one.
uint64_t gpuOperationsOf(plan::KernelOp kernel, const GpuModel &gpu = {});

} // namespace gradus
