// Chooses the plan of an artifact that a device runs.

#pragma once

#include "runtime/device/device.h"

#include <memory>
#include <string>

namespace gradus::runtime {

/// Opens the named device to run an artifact on. If it is not available and the
/// artifact has no plan for its kind either, the error reports the plan: that
/// must be mended first, and needs no device.
StatusOr<std::shared_ptr<Device>> openDeviceFor(const artifact::Header &header,
                                                const std::string &name);

/// The plan with the greatest tuning_score among those that a device can run;
/// else an error that says for each plan what the device lacks.
StatusOr<const artifact::Plan *> choosePlan(const artifact::Header &header,
                                            const Device &device);

/// The one with the greatest tuning_score among those that the devices of all
/// ranks can run, which call this together. Ranks whose artifacts have other
/// numbers of plans keep their own choice; who compares artifacts tells them.
StatusOr<const artifact::Plan *>
chooseCommonPlan(const artifact::Header &header, const Device &device,
                 Collectives &ranks);

} // namespace gradus::runtime
