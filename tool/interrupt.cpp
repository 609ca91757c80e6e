// The signal handler and the one session it cancels.

#include "tool/interrupt.h"

#include "tool/command_line.h"

#include "absl/strings/str_cat.h"

#include <csignal>
#include <ctime>

namespace gradus::cli {

static std::atomic<runtime::Session *> cancelled{nullptr};
static std::atomic<int64_t> firstSignal{0};
static std::atomic<int> living{0}; // of simulated ranks each has one

/// Milliseconds of the monotonic clock; safe in a signal handler.
static int64_t now() {
  timespec time = {};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1000 + time.tv_nsec / 1'000'000;
}

static void handle(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = handler == SIG_DFL ? 0 : SA_RESTART;
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1}) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    bool keeps = signal == SIGHUP && before.sa_handler == SIG_IGN; // nohup
    if (!keeps)
      sigaction(signal, &action, nullptr);
  }
}

bool asksAgain(std::atomic<int64_t> &first) {
  constexpr int64_t kSameWishMilliseconds = 500;
  int64_t none = 0;
  return !first.compare_exchange_strong(none, now()) &&
         now() - none > kSameWishMilliseconds;
}

static void onSignal(int signal) {
  if (asksAgain(firstSignal) && signal != SIGPIPE) {
    handle(SIG_DFL);
    std::raise(signal);
  }
  if (runtime::Session *session = cancelled)
    session->cancel();
}

Interrupt::Interrupt(runtime::Session *session) {
  cancelled = session;
  if (living++ == 0)
    handle(onSignal);
}

/// A launcher's wish may come too late: the rank ends already.
Interrupt::~Interrupt() {
  if (--living == 0) {
    handle(SIG_DFL);
    std::signal(SIGUSR1, SIG_IGN);
  }
  cancelled = nullptr;
}

Failure interruptedAfter(int64_t done, int64_t total,
                         const std::string &checkpoint) {
  std::string words =
      absl::StrCat("interrupted after step ", done, " of ", total, "; ");
  return Failure(kInterrupted,
                 words +
                     (checkpoint.empty()
                          ? "no checkpoint was asked for, so nothing was saved"
                          : resumeAdvice(checkpoint)));
}

bool Interrupt::requested() { return firstSignal != 0; }

} // namespace gradus::cli
