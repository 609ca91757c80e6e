// Measures calls that compute the same by different algorithms.
#pragma once

#include "runtime/cuda/card.h"
#include "runtime/cuda/libraries/library_call.h"

namespace gradus::runtime::cuda {

/// The microseconds of each trial of a call; empty if it failed.
using Times = std::vector<double>;

/// Runs calls that are prepared for a command in turns, `trials` times each, on
/// memory of their own: inputs are numbers in [-1, 1], since a GPU is faster on
/// zeros. Data that calls share is in caches. The first call must work.
StatusOr<std::vector<Times>> timeCalls(const Card &card,
                                       const artifact::LibraryCommand &command,
                                       const std::vector<LibraryCall *> &calls,
                                       int trials);

} // namespace gradus::runtime::cuda
