// Locks on open files, which end with their process, and the owners of such
// locks.

#pragma once

#include <string>

namespace gradus::runtime {

enum class Lock {
  taken,
  held, // by somebody else: another process, or another opening of the file
  none, // errno says why: most often the file system has no locks
};

/// Tries to lock the file of a descriptor, until the descriptor is closed.
Lock tryLock(int descriptor);

/// The owner of the lock: "process 4711 (gradus)", or "" if the system does not
/// say or the lock has ended meanwhile.
std::string lockOwnerOf(int descriptor);

} // namespace gradus::runtime
