// How much memory this process takes, as the kernel counts it.

#pragma once

#include <cstdint>

namespace gradus::cli {

/// Memory of its own that the process holds now (RssAnon), in bytes: not the
/// mapped data sets and programs. 0 where the kernel does not say.
uint64_t anonymousBytes();

/// Gives back what has been freed, so that it does not count.
void releaseFreed();

/// What loading an artifact with an empty graph adds to that: the threads and
/// tables that every session has. docs/contracts.md counts without them.
uint64_t emptySessionBytes(int threads);

} // namespace gradus::cli
