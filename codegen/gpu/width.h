// Tells whether positions of a kernel fit into 32 bits. GPUs have only 32-bit
// integer units: a 64-bit operation is several instructions, a division dozens.
#pragma once

#include "codegen/gpu/mapping.h"

namespace gradus {

/// Whether all intermediate values of offsets, guards and loop limits are less
/// than 2^31, and all loop counters less than 2^30, so that a counter may step
/// past its end. Always false for kernels of any length (flat ones) and for
/// indices from memory (plan.take).
bool fits32Bits(plan::KernelOp kernel, const GpuMapping &mapping);

} // namespace gradus
