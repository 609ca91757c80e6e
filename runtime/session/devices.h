// The devices that a user can name.

#pragma once

#include "runtime/device/plug_in.h"

namespace gradus::runtime {

/// Opens a device: "cpu", "cuda" (its first GPU), "cuda:1", "emulated". The
/// error lists the names, or says why this device is not available.
StatusOr<std::shared_ptr<Device>> openDevice(const std::string &name);

/// Opens the plug-in for GPUs, and through it the driver and those libraries.
GpuFacts gpuFacts();

} // namespace gradus::runtime
