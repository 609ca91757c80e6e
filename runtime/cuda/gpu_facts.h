// What `gradus doctor` tells of GPUs: the driver, its cards, the vendor's
// libraries.
#pragma once

#include "runtime/cuda/driver.h"
#include "runtime/devices.h"

namespace gradus::runtime::cuda {

/// Version and cards, or why there are none. Opens no card.
void addDriverFacts(const Driver &driver, GpuFacts &facts);

/// Version and file of each library that plans may call, or why it cannot be
/// had.
void addLibraryFacts(GpuFacts &facts);

} // namespace gradus::runtime::cuda
