// The facts about GPUs that `gradus doctor` shows: the driver, its GPUs, the
// vendor's libraries.
#pragma once

#include "runtime/cuda/driver/driver.h"
#include "runtime/device/plug_in.h"

namespace gradus::runtime::cuda {

/// Adds the driver's version and GPUs, or the reason why there are none. Opens
/// no GPU.
void addDriverFacts(const Driver &driver, GpuFacts &facts);

/// Adds the version and file of each library that plans may call, or the reason
/// why it cannot be used.
void addLibraryFacts(GpuFacts &facts);

} // namespace gradus::runtime::cuda
