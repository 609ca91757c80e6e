// The rate at which this machine adds what ranks send each other.

#pragma once

#include "tool/bench/step_timeline.h"

namespace gradus::cli {

/// Measures sums of two ranks that are threads of this process, without a
/// network: some 30 ms. Rates of 0 where the system starts no more threads.
SumRate measureSumRate();

} // namespace gradus::cli
