// Starts this program again on several processes of this host.

#pragma once

namespace gradus::cli {

/// Runs the words of this call on so many processes by mpirun. A signal that
/// asks for the end reaches all of them. Throws a Failure without words, as
/// they have said theirs, where they do not all end well.
void startRanks(int ranks);

} // namespace gradus::cli
