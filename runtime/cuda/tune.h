// Finds the fastest algorithms of libraries for the calls of a plan.
#pragma once

#include "runtime/cuda/card.h"
#include "runtime/cuda/libraries/library_call.h"
#include "runtime/cuda/time_calls.h"
#include "runtime/device/device.h"

namespace gradus::runtime::cuda {

/// The median; infinity if there are no times.
double median(Times times);

/// The index of the least median; 0, the default, if no other takes less than 1
/// - margin of its time.
size_t fastest(const std::vector<Times> &times, double margin);

/// Implements Device::tune by a server.
StatusOr<std::vector<TunedCall>> tuneCalls(const Card &card,
                                           LibraryServer &server,
                                           const artifact::Plan &plan,
                                           const TuneOptions &options);

} // namespace gradus::runtime::cuda
