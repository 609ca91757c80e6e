// The values of states before the first step.

#pragma once

#include "runtime/session/host_view.h"

namespace gradus::runtime {

/// Writes initial weights, or each state's fill, into states that are zero. Of
/// a whole of which each rank has a part it writes that of `rank`; what lies
/// behind the end of the weights stays zero.
Status initialiseStates(const Artifact &artifact, const artifact::Plan &plan,
                        DevicePlan &device, int64_t rank = 0);

/// Resets states to these values. If the file of the artifact no longer has its
/// weights, it fails and changes none.
Status resetStates(const Artifact &artifact, const artifact::Plan &plan,
                   DevicePlan &device, int64_t rank = 0);

/// Sets the hashes of the whole values of fixed states of which each rank has a
/// part: no rank has them in its memory.
Status hashWholes(const Artifact &artifact, HostStates &states);

/// Writes `count` elements of `value`, rounded to the type; whole numbers that
/// the type cannot hold become 0.
void fillWith(artifact::DType dtype, void *data, size_t count, double value);

} // namespace gradus::runtime
