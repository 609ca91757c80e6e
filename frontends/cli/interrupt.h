// Ctrl-C, SIGTERM, SIGHUP (a terminal that goes) and SIGPIPE (a reader of the
// output that goes): the current step ends, the state is saved, the tool says
// how to go on. A second signal, half a second later or more, ends the process
// at once; of SIGPIPE there may be many. nohup keeps SIGHUP away.

#pragma once

#include "frontends/cli/failure.h"
#include "runtime/session.h"

namespace gradus::cli {

class Interrupt {
public:
  /// From here on a signal cancels `session`.
  explicit Interrupt(runtime::Session &session);
  ~Interrupt();
  Interrupt(const Interrupt &) = delete;

  static bool requested();
};

/// What ends a command that was interrupted after `done` of `total` steps;
/// `checkpoint`, where not empty, has been saved.
Failure interruptedAfter(int64_t done, int64_t total,
                         const std::string &checkpoint);

} // namespace gradus::cli
