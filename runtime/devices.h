// The devices that a user can name.

#pragma once

#include "runtime/device.h"

namespace gradus::runtime {

/// The device of a name: "cpu", "cuda" (its first card), "cuda:1", "emulated".
/// The error says which names there are, or why this one cannot be had here.
StatusOr<std::shared_ptr<Device>> openDevice(const std::string &name);

} // namespace gradus::runtime
