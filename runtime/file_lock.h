// Locks on open files, which end with the process that has them, and whose they
// are.

#pragma once

#include <string>

namespace gradus::runtime {

enum class Lock {
  taken,
  held, // by somebody else: another process, or another opening of the file
  none, // errno says why: most often the file system has no locks
};

/// Tries to have the file of a descriptor alone, until the descriptor is
/// closed.
Lock tryLock(int descriptor);

/// Who has it: "process 4711 (gradus)", or "another process" where the system
/// does not say.
std::string lockOwnerOf(int descriptor);

} // namespace gradus::runtime
