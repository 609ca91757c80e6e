// Memory for what oneDNN allocates while it runs a call.
//
// Each call of the library makes a few small objects (its table of arguments,
// among others) and frees them before it returns. A step must not go to the
// heap, so these come from cells set aside in the program itself. Some kinds of
// convolution and product also pack their tensors into large blocks; those are
// kept when they are freed, so that after the first steps there is one for
// each. The library's imports of these functions are replaced when it is loaded
// (cpu/onednn_library.cpp); outside of calls they do what they always do.

#pragma once

#include <cstddef>

namespace gradus::runtime {

/// While one lives, allocateForCall in this thread takes cells.
class CallMemoryScope {
public:
  CallMemoryScope();
  ~CallMemoryScope();
  CallMemoryScope(const CallMemoryScope &) = delete;

  /// Whether this thread is in one.
  static bool isOpen();
  CallMemoryScope &operator=(const CallMemoryScope &) = delete;
};

/// A cell, or operator new where there is no scope, the object is large or no
/// cell is free.
void *allocateForCall(size_t size);

/// Frees either kind, in any thread and scope.
void freeForCall(void *memory);

/// posix_memalign: in a scope a block that was kept, or a new one to keep.
int alignForCall(void **memory, size_t alignment, size_t size);

/// free: a block of alignForCall is kept for later calls, until the process
/// ends; all else is freed.
void releaseForCall(void *memory);

} // namespace gradus::runtime
