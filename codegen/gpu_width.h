// Whether positions of a kernel fit into 32 bits. A GPU has no others: 64 bits
// are several instructions, and a division of them is dozens.
#pragma once

#include "codegen/gpu_mapping.h"

namespace gradus {

/// Whether all that is computed on the way to an element's place, to a guard
/// or to the limits of a loop is less than 2^31, and what is counted less than
/// 2^30, so that a counter may step over its end. Not for kernels of any
/// length (flat ones), nor of places that memory holds (plan.take).
bool fits32Bits(plan::KernelOp kernel, const GpuMapping &mapping);

} // namespace gradus
