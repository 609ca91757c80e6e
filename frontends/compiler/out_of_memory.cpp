// Handles failed allocations of LLVM and of operator new, and LLVM's other
// fatal errors. Nothing here may allocate.

#include "frontends/compiler/out_of_memory.h"

#include "llvm/Support/ErrorHandling.h"

#include <cstring>
#include <unistd.h>

namespace gradus::compiler {

static void say(const char *words) {
  // If stderr is closed, there is nobody to tell.
  (void)!::write(STDERR_FILENO, words, std::strlen(words));
}

/// Runs no destructors: those of other threads and of static objects might wait
/// for a lock that this thread holds.
[[noreturn]] static void exitOutOfMemory(void *, const char *, bool) {
  say("gradus: out of memory: compiling this takes more than the process may "
      "have (the machine's memory, a container's limit, ulimit -v)\n");
  ::_exit(1);
}

[[noreturn]] static void exitOfFatalError(void *, const char *reason, bool) {
  say("gradus: the compiler cannot go on: ");
  say(reason);
  say("\n");
  ::_exit(1);
}

void exitWhereMemoryEnds() {
  [[maybe_unused]] static const bool once = [] {
    llvm::install_bad_alloc_error_handler(exitOutOfMemory);
    llvm::install_out_of_memory_new_handler();
    llvm::install_fatal_error_handler(exitOfFatalError);
    return true;
  }();
}

} // namespace gradus::compiler
