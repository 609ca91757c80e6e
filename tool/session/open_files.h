// The limit of open files, which a run of many ranks may exceed.

#pragma once

#include <cstdint>
#include <string>

namespace gradus::cli {

/// The limit of open files of a process: what holds, and what it may raise this
/// to.
struct OpenFileLimit {
  uint64_t now, most;
};
OpenFileLimit openFileLimit();

/// The words for a limit that is too low for `needed` open files, with what
/// raises it; empty for one that is high enough.
std::string openFilesProblem(uint64_t needed, const OpenFileLimit &limit);

/// Throws a Failure that begins with `what`, such as "--ranks 300", where this
/// process may not have so many files open.
void checkOpenFiles(const std::string &what, uint64_t needed);

} // namespace gradus::cli
