// The signal handler and the one session it cancels.

#include "frontends/cli/interrupt.h"

#include <atomic>
#include <csignal>

namespace gradus::cli {

static std::atomic<runtime::Session *> cancelled{nullptr};
static std::atomic<bool> signalled{false};

static void onSignal(int) {
  signalled = true;
  if (runtime::Session *session = cancelled)
    session->cancel();
}

static void handle(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = handler == SIG_DFL ? 0 : SA_RESETHAND | SA_RESTART;
  for (int signal : {SIGINT, SIGTERM})
    sigaction(signal, &action, nullptr);
}

Interrupt::Interrupt(runtime::Session &session) {
  cancelled = &session;
  handle(onSignal);
}

Interrupt::~Interrupt() {
  handle(SIG_DFL);
  cancelled = nullptr;
}

bool Interrupt::requested() { return signalled; }

} // namespace gradus::cli
