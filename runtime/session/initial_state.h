// The values of states before the first step.

#pragma once

#include "runtime/device/device.h"

namespace gradus::runtime {

/// Writes initial weights, or each state's fill, into states that are zero.
Status initialiseStates(const Artifact &artifact, const artifact::Plan &plan,
                        DevicePlan &device);

/// Resets states to these values. If the file of the artifact no longer has its
/// weights, it fails and changes none.
Status resetStates(const Artifact &artifact, const artifact::Plan &plan,
                   DevicePlan &device);

/// Writes `count` elements of `value`, rounded to the type; whole numbers that
/// the type cannot hold become 0.
void fillWith(artifact::DType dtype, void *data, size_t count, double value);

} // namespace gradus::runtime
