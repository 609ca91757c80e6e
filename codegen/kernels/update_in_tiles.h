// Tells the pass that updates states in the tiles of their gradients' matmuls
// which kernels have such tiles.
#pragma once

#include "codegen/plan/plan.h"

namespace gradus {

/// Marks a kernel that writes each element of its result exactly once, when it
/// is complete.
void setWritesOnce(plan::KernelOp kernel);

} // namespace gradus
