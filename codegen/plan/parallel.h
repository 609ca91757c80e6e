// Work that several threads share while compiling.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstddef>

namespace gradus {

/// Calls `work` with each number below `count` once, on as many threads as the
/// machine runs at once, this one among them, and waits for all. Threads take
/// the numbers in rising order.
void parallelFor(size_t count, llvm::function_ref<void(size_t)> work);

} // namespace gradus
