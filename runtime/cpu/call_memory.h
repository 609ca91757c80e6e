// Memory for what oneDNN allocates while it runs a call.
//
// Each call of the library makes a few small objects (its table of arguments,
// among others) and frees them before it returns. A step must not go to the
// heap, so these come from cells set aside in the program itself. The library's
// imports of operator new and delete are replaced when it is loaded
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
  CallMemoryScope &operator=(const CallMemoryScope &) = delete;
};

/// A cell, or operator new where there is no scope, the object is large or no
/// cell is free.
void *allocateForCall(size_t size);

/// Frees either kind, in any thread and scope.
void freeForCall(void *memory);

} // namespace gradus::runtime
