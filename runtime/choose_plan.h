// Which plan of an artifact a device runs.

#pragma once

#include "runtime/device.h"

namespace gradus::runtime {

/// The plan with the greatest tuning_score among those that a device can run;
/// else an error that says what it lacks for each of them.
StatusOr<const artifact::Plan *> choosePlan(const artifact::Header &header,
                                            const Device &device);

} // namespace gradus::runtime
