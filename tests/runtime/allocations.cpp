// The heap's functions, counted. The program's own definitions stand before the
// C library's, also for libraries that are loaded later (oneDNN). Sanitizers
// have definitions of their own, and a hook instead.
#include "allocations.h"
#include "tests/this_build.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

static std::atomic<int64_t> count{0};

int64_t gradus::test::allocations() { return count; }

#if GRADUS_SANITIZE

extern "C" int __sanitizer_install_malloc_and_free_hooks(
    void (*)(const volatile void *, size_t), void (*)(const volatile void *));

static const int installed = __sanitizer_install_malloc_and_free_hooks(
    [](const volatile void *, size_t) { ++count; },
    [](const volatile void *) {});

#else

extern "C" {
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t number, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) {
  ++count;
  return __libc_malloc(size);
}
void *calloc(size_t number, size_t size) {
  ++count;
  return __libc_calloc(number, size);
}
void *realloc(void *memory, size_t size) {
  ++count;
  return __libc_realloc(memory, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  ++count;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **memory, size_t alignment, size_t size) {
  ++count;
  *memory = __libc_memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}
}

#endif
