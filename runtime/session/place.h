// The place of a process among those that run an artifact together: its rank,
// and the logical ranks that it computes one after the other.

#pragma once

#include "runtime/origin.h"
#include "runtime/session/session.h"
#include "runtime/status.h"

namespace gradus::runtime {

/// S logical ranks on N processes are S/N turns of each: the process of rank r
/// computes those from r S/N on, each by one call of `train`.
struct Place {
  Origin origin; // the process that has the session's threads
  int64_t rank = 0, ranks = 1;
  int64_t logicalRanks = 0; // 0: as many as processes
  int turn = -1;            // the state that tells the turn; -1: there is none
  Status training; // why so many ranks do not train it, if there is a reason

  /// The turns of a step.
  int64_t turns() const { return logicalRanks ? logicalRanks / ranks : 1; }
  /// The value of a state of the role `place` before a step.
  int64_t valueOf(const StateInfo &state) const;
};

/// Refuses a number of ranks that an artifact does not train on: its recipe
/// says another one, or they fill no groups of AdaSum. Its other graphs run on
/// any.
Status verifyTrainsOn(const artifact::Header &header,
                      const artifact::Plan &plan, int64_t ranks);

/// Fails where the logical ranks cannot be divided among the processes.
StatusOr<Place> placeOf(const artifact::Header &header, int64_t rank,
                        int64_t ranks);
/// The place of a process that is alone if it has no collectives.
StatusOr<Place> placeOf(const artifact::Header &header,
                        const Collectives *collectives);

} // namespace gradus::runtime
