// Bytes that commands move to and from memory: of each buffer what is read and
// written of it, once, however often. Expected times and rates are made of
// them.
#pragma once

#include "codegen/plan.h"

namespace gradus {

/// Of a launch of `kernel`. A card's caches hold less for each of its many
/// blocks than a processor's for each core: where the rows that blocks work on
/// do not fit, on a card each nest that reads a row counts.
uint64_t trafficOf(plan::LaunchOp launch, plan::KernelOp kernel, bool isCard);
uint64_t trafficOf(plan::LibraryOp library);

} // namespace gradus
