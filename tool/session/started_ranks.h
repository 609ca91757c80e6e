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

/// The exit code of ranks whose mpirun has ended with `status`, as waitpid()
/// gives it. Its own code is that of the first rank that failed; where one was
/// killed, which mpirun says by a code above 128, ranks have failed. `asked`
/// is the signal that asked for the end, 0 if none has: a rank that does not
/// train yet ends by SIGUSR1, in which mpirun gets it.
int codeOfRanks(int status, int asked);

} // namespace gradus::cli
