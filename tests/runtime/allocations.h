// How often this process has gone to the heap, in whatever thread or library:
// operator new, malloc, calloc, realloc, posix_memalign and aligned_alloc.
#pragma once

#include <cstdint>

namespace gradus::test {

int64_t allocations();

} // namespace gradus::test
