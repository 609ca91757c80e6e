// How much memory this process takes, as the kernel counts it.

#pragma once

#include <cstdint>

namespace gradus::cli {

/// Memory of its own that the process holds now (RssAnon), in bytes: not the
/// mapped data sets and programs. 0 where the kernel does not say.
uint64_t anonymousBytes();

} // namespace gradus::cli
