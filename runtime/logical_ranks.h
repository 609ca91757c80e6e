// The limits of ranks, which the recipe, artifacts and collectives share. Every
// folder may include this file, which includes nothing.
#pragma once

namespace gradus {

/// The most ranks that a run may have on any number of processes.
inline constexpr long kMostLogicalRanks = 65536;

/// The most processes that run together.
inline constexpr int kMostProcesses = 8192;

} // namespace gradus
