// A number that is 0 was not set: its range begins above.

#include "runtime/session/run_length.h"

#include "runtime/well_known.h"

namespace gradus::runtime {

/// The value of a number; 0 where there is none of that name.
static StatusOr<double> numberOf(const Session &session, const char *name) {
  double number = 0;
  if (session.findState(name) >= 0)
    GRADUS_TRY(session.readState(name, &number, sizeof(number)));
  return number;
}

StatusOr<RunLength> runLengthOf(const Session &session) {
  RunLength length;
  GRADUS_ASSIGN(length.updates, numberOf(session, well_known::kUpdates));
  GRADUS_ASSIGN(length.updatesPerEpoch,
                numberOf(session, well_known::kUpdatesPerEpoch));
  return length;
}

static Status give(Session &session, const char *name, double now,
                   double number) {
  if (now != 0 || session.findState(name) < 0)
    return Status();
  return session.writeState(name, &number, sizeof(number));
}

Status giveRunLength(Session &session, const RunLength &length) {
  GRADUS_ASSIGN(RunLength now, runLengthOf(session));
  GRADUS_TRY(give(session, well_known::kUpdates, now.updates, length.updates));
  return give(session, well_known::kUpdatesPerEpoch, now.updatesPerEpoch,
              length.updatesPerEpoch);
}

} // namespace gradus::runtime
