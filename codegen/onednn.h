// How oneDNN wants to see the tensors of a call, asked from the library itself
// at compile time. Where it is not at hand, tensors stay in row-major order.
#pragma once

#include "codegen/library.h"

namespace gradus {

const Library &oneDnn();

/// Asks for the scratch of a call as it is; `free` lets the library choose the
/// layouts of operands 0 and 1 and of the result, and changes them. Returns
/// whether the library can do the call; without it, true and nothing changes.
bool askOneDnn(LibraryCall &call, bool free);

/// Whether the library is at hand.
bool hasOneDnn();

} // namespace gradus
