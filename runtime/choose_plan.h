// Which plan of an artifact a device runs.

#pragma once

#include "runtime/device.h"

#include <memory>
#include <string>

namespace gradus::runtime {

/// The device of a name, to run an artifact on. Where it cannot be had and the
/// artifact has no plan for one of its kind either, the error says the latter:
/// that is to be mended first, and needs no device.
StatusOr<std::shared_ptr<Device>> openDeviceFor(const artifact::Header &header,
                                                const std::string &name);

/// The plan with the greatest tuning_score among those that a device can run;
/// else an error that says what it lacks for each of them.
StatusOr<const artifact::Plan *> choosePlan(const artifact::Header &header,
                                            const Device &device);

} // namespace gradus::runtime
