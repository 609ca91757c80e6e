// How long a command is expected to take on a device: a roofline. It is an
// estimate from counts, for comparing variants before anything runs; `gradus
// bench` measures.

#pragma once

#include "frontends/cli/device_rates.h"
#include "runtime/artifact.h"

#include <string>
#include <vector>

namespace gradus::cli {

/// Seconds: the longer of its FLOPs and its bytes at the device's rates. Of a
/// processor's, our own kernels and the library reach a share; of a card's no
/// share is measured yet, and no command takes less.
double expectedSeconds(const artifact::Command &command,
                       const DeviceRates &rates);

/// How the figures are made, in a line; all are of cards, or one is of this
/// machine. Empty where there are none.
std::string expectationText(const std::vector<DeviceRates> &devices);

} // namespace gradus::cli
