// Ctrl-C and SIGTERM: the current step ends, the state is saved, the tool says
// how to go on. A second signal, half a second later or more, ends the process
// at once.

#pragma once

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

} // namespace gradus::cli
