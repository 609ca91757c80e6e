// How long calls take that compute the same by other algorithms.
#pragma once

#include "runtime/cuda/card.h"
#include "runtime/cuda/library_call.h"

namespace gradus::runtime::cuda {

/// Of a call, microseconds of each trial; none where it failed.
using Times = std::vector<double>;

/// Runs calls that are ready for a command in turns, `trials` times each, on
/// memory of their own: inputs are numbers in [-1, 1], as a card takes less
/// time where it multiplies zeros. What calls share is warm in caches. The
/// first call must serve.
StatusOr<std::vector<Times>> timeCalls(const Card &card,
                                       const artifact::LibraryCommand &command,
                                       const std::vector<LibraryCall *> &calls,
                                       int trials);

} // namespace gradus::runtime::cuda
