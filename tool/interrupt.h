// Handles Ctrl-C, SIGTERM, SIGUSR1 (which launchers pass on to their
// processes), SIGHUP (a closed terminal) and SIGPIPE (a closed output): the
// current step ends, the state is saved, the tool says how to resume. A second
// signal, half a second later or more, ends the process at once; SIGPIPE may
// come often. nohup keeps SIGHUP away.

#pragma once

#include "runtime/session/session.h"
#include "tool/failure.h"

#include <atomic>

namespace gradus::cli {

class Interrupt {
public:
  /// Makes signals cancel `session`; null: they only ask for the end, of which
  /// all ranks of a run take notice together.
  explicit Interrupt(runtime::Session *session);
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;

  static bool requested();
};

/// Whether a signal asks again, half a second or more after the first one,
/// whose time `first` keeps (0: none came). Process managers and timeout(1)
/// send one signal twice, to the process and to its group. Safe in a signal
/// handler.
bool asksAgain(std::atomic<int64_t> &first);

/// The Failure of a command that was interrupted after `done` of `total` steps;
/// `checkpoint`, if not empty, has been saved.
Failure interruptedAfter(int64_t done, int64_t total,
                         const std::string &checkpoint);

} // namespace gradus::cli
