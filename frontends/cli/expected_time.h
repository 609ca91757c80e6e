// How long a command is expected to take on this machine: a roofline. It is an
// estimate from counts, for comparing variants before anything runs; `gradus
// bench` measures.

#pragma once

#include "frontends/cli/machine_rates.h"
#include "runtime/artifact.h"

#include <string>

namespace gradus::cli {

/// Seconds: the longer of its FLOPs and its bytes at the machine's rates, of
/// which our own kernels and the library reach a share.
double expectedSeconds(const artifact::Command &command,
                       const MachineRates &rates);

/// How the figure is made, in a line.
std::string expectationText(const MachineRates &rates);

} // namespace gradus::cli
