// The limit of logical ranks, which the recipe and artifacts share. Every
// folder may include this file, which includes nothing.
#pragma once

namespace gradus {

/// The most ranks that a run may have on any number of processes.
inline constexpr long kMostLogicalRanks = 65536;

} // namespace gradus
