// The folder in which libraries that come with this one are searched for.

#pragma once

#include <string>

namespace gradus::runtime {

/// The folder of the file that the runtime is linked into: a library, or the
/// program. Never the current folder, whose files may be anybody's.
std::string ownFolder();

/// The file of this program: what `link` is a link to, which is /proc/self/exe,
/// or where there is no /proc what the system was asked to run, if that is a
/// whole path; else nothing.
std::string programFile(const char *link = "/proc/self/exe");

} // namespace gradus::runtime
