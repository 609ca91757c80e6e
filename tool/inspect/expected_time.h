// The expected time of a command on a device, by a roofline. It is an estimate
// from counts, for comparing variants before anything runs; `gradus bench`
// measures.

#pragma once

#include "runtime/artifact/artifact.h"
#include "tool/inspect/device_rates.h"

#include <string>
#include <vector>

namespace gradus::cli {

/// The time in seconds: the longer of its FLOPs and its bytes at the device's
/// rates, of kernels that multiply matrices the sum of products, other
/// operations and bytes. On a CPU our own kernels and the library reach a share
/// of the rates; for GPUs no share is measured yet: the time is a lower bound.
/// 0 for a sum over ranks, which another thread makes.
double expectedSeconds(const artifact::Command &command,
                       const DeviceRates &rates);

/// Returns the FLOPs a second that a device reaches at most in a command: those
/// of 16-bit matmuls if its library multiplies in 16 bits, or if a kernel of a
/// processor multiplies pairs of bf16, else those of f32.
double mostFlops(const artifact::Command &command, const DeviceRates &rates);

/// Explains in one line how the times are computed; all are of GPUs, or one is
/// of this machine. Empty if there are none.
std::string expectationText(const std::vector<DeviceRates> &devices);

} // namespace gradus::cli
