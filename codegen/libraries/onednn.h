// Asks oneDNN at compile time for the layouts of a call. If the library is
// missing, tensors stay in row-major order.
#pragma once

#include "codegen/libraries/library.h"

namespace gradus {

/// Products of fewer operations than these are nests of our own, which are at
/// least as fast and fuse, but for those in blocks of channels.
constexpr int64_t kFewestOneDnnFlops = 50'000'000;

const Library &oneDnn();

/// Asks for the scratch of a call as it is; with `free` the library also
/// chooses the layouts of operands 0 and 1 and of the result, and the call is
/// changed. Returns whether the library supports the call; without the library,
/// true, with no change.
bool askOneDnn(LibraryCall &call, bool free);

/// Whether the library was found.
bool hasOneDnn();

} // namespace gradus
