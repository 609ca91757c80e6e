// The folder in which libraries that come with this one are searched for.

#pragma once

#include <string>

namespace gradus::runtime {

/// The folder of the file that the runtime is linked into: a library, or the
/// program. Never the current folder, whose files may be anybody's.
std::string ownFolder();

} // namespace gradus::runtime
