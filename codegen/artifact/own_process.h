// Tries work that may end the process.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

namespace gradus {

/// Runs `work` in a copy of this process, for at most a minute, with at most
/// 1 GiB of memory more than this one has, and without its errors on stderr.
/// Returns whether it came to its end there.
bool endsInOwnProcess(llvm::function_ref<void()> work);

} // namespace gradus
