// By which algorithms libraries compute the calls of a plan fastest.
#pragma once

#include "runtime/cuda/card.h"
#include "runtime/cuda/library_call.h"
#include "runtime/cuda/time_calls.h"
#include "runtime/device.h"

namespace gradus::runtime::cuda {

/// What lies in the middle; of no times infinity.
double median(Times times);

/// Which has the least median; 0, which is the default, where no other takes
/// less than 1 - margin of its time.
size_t fastest(const std::vector<Times> &times, double margin);

/// Device::tune, by a server.
StatusOr<std::vector<TunedCall>> tuneCalls(const Card &card,
                                           LibraryServer &server,
                                           const artifact::Plan &plan,
                                           const TuneOptions &options);

} // namespace gradus::runtime::cuda
