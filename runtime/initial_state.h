// The value of every state before the first step.

#pragma once

#include "runtime/artifact.h"

#include <cstdint>

namespace gradus::runtime {

/// Writes initial weights, or each state's fill, into a zeroed state region.
void initialiseStates(const Artifact &artifact, const artifact::Plan &plan,
                      uint8_t *region);

/// `count` elements of `value`, rounded to the type; whole numbers that the
/// type cannot hold become 0.
void fillWith(artifact::DType dtype, void *data, size_t count, double value);

} // namespace gradus::runtime
