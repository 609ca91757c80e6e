// Memory for oneDNN's allocations while it runs a call.
//
// Each call of the library makes a few small objects (its table of arguments,
// among others) and frees them before it returns. A step must not use the heap,
// so these come from cells set aside in the program itself. Some kinds of
// convolution and matmul also pack their tensors into large blocks; those are
// kept when they are freed, so that after the first steps there is one for
// each. The library's imports of these functions are replaced when it is loaded
// (cpu/onednn_library.cpp); outside of calls they do what they always do.

#pragma once

#include <cstddef>

namespace gradus::runtime {

/// While a scope is open, allocateForCall in this thread returns cells.
class CallMemoryScope {
public:
  CallMemoryScope();
  ~CallMemoryScope();
  CallMemoryScope(const CallMemoryScope &) = delete;

  /// Whether this thread has an open scope.
  static bool isOpen();
  CallMemoryScope &operator=(const CallMemoryScope &) = delete;
};

/// Allocates a cell, or calls operator new if there is no scope, the object is
/// large or no cell is free.
void *allocateForCall(size_t size);

/// Frees memory of allocateForCall, in any thread and scope.
void freeForCall(void *memory);

/// Replaces posix_memalign: in a scope it returns a kept block, or a new one to
/// keep.
int alignForCall(void **memory, size_t alignment, size_t size);

/// Replaces free: a block of alignForCall is kept for later calls, until the
/// process ends; all other memory is freed.
void releaseForCall(void *memory);

} // namespace gradus::runtime
