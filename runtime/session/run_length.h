// The length of a run, which schedules in epochs and fractions of it await.
#pragma once

#include "runtime/session/session.h"

namespace gradus::runtime {

struct RunLength {
  double updates = 0;         // of the whole run
  double updatesPerEpoch = 0; // not always whole
};

/// Gives a session the length of its run where neither its recipe nor its
/// checkpoint says one.
Status giveRunLength(Session &session, const RunLength &length);

/// Returns the length that a session has; 0 for what it does not ask for.
StatusOr<RunLength> runLengthOf(const Session &session);

} // namespace gradus::runtime
