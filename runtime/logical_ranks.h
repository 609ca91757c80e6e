// The limit of logical ranks, which the recipe and artifacts share.
#pragma once

#include <cstdint>

namespace gradus {

/// The most ranks that a run may have on any number of processes.
inline constexpr int64_t kMostLogicalRanks = 65536;

} // namespace gradus
