// The copy ends by _exit: buffers of files that both have are written once.

#include "codegen/artifact/own_process.h"

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace gradus;

/// The address space that this process uses; 0 where it is unknown.
static uint64_t usedAddresses() {
  unsigned long pages = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(file, "%lu", &pages) != 1)
      pages = 0;
    std::fclose(file);
  }
  return uint64_t{pages} * sysconf(_SC_PAGESIZE);
}

/// A copy of a process with threads may wait for what a thread that was not
/// copied holds, so it gets a minute.
static void limitTime() {
  std::signal(SIGALRM, SIG_DFL);
  sigset_t alarm;
  sigemptyset(&alarm);
  sigaddset(&alarm, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &alarm, nullptr);
  ::alarm(60);
}

static void limitMemory() {
  constexpr uint64_t kMore = uint64_t{1} << 30;
  rlimit limit;
  getrlimit(RLIMIT_AS, &limit);
  if (uint64_t used = usedAddresses();
      used &&
      (limit.rlim_cur == RLIM_INFINITY || used + kMore < limit.rlim_cur))
    limit.rlim_cur = used + kMore;
  setrlimit(RLIMIT_AS, &limit);
  rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

Trial gradus::tryInOwnProcess(llvm::function_ref<void()> work) {
  pid_t child = fork();
  if (child < 0)
    return Trial::untried;
  if (child == 0) {
    if (int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0)
      dup2(nowhere, STDERR_FILENO);
    limitTime();
    limitMemory();
    work();
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) // A program that ignores SIGCHLD is not told.
      return Trial::untried;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? Trial::ended
                                                       : Trial::died;
}
