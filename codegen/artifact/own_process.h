// Tries work that may end the process.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

namespace gradus {

enum class Trial {
  ended,   // the work came to its end
  died,    // it ended its process, or that took too much
  untried, // there is no process to be had for it
};

/// Tries `work` in a copy of this process, for at most a minute, with at most
/// 1 GiB of memory more than this one has, and without its errors on stderr.
Trial tryInOwnProcess(llvm::function_ref<void()> work);

} // namespace gradus
