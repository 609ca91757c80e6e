// Starts this program again on several processes of this host.

#pragma once

#include <string>

namespace gradus::cli {

/// Says what to expect of more ranks than cores; empty where each has its own.
std::string crowdedText(int ranks, int cores);

/// Runs the words of this call on so many processes by mpirun, after a warning
/// where they are more than cores. A signal that asks for the end reaches all
/// of them. Throws a Failure without words, as they have said theirs, where
/// they do not all end well.
void startRanks(int ranks);

} // namespace gradus::cli
