// States that each rank has of its own for good, such as the parameters of
// `distribution.reduce` `partial`, as their means over ranks: what is tested
// and what a checkpoint gives to others is one model.

#pragma once

#include "runtime/collectives/communication_thread.h"
#include "runtime/session/session.h"
#include "training/trainer.h"

#include <cstdint>
#include <vector>

namespace gradus::training {

/// The numbers of the states that a rank has of its own and a checkpoint may
/// have, other than parts of what all have (ZeRO-1); of those that last alone
/// (runtime/well_known.h), or of all.
std::vector<int> ownStates(const runtime::Session &session, bool all = true);

/// Puts means into the session and the rank's own values back. Holds a copy of
/// these meanwhile. Session and ranks must outlive this.
class RankMeans {
public:
  RankMeans(runtime::Session &session, runtime::CommunicationThread &ranks)
      : session_(session), ranks_(ranks) {}

  /// Gives all ranks the means of their own states of floating-point numbers,
  /// in f32 (f64 where they are f64): of `states`, some of ownStates(), or of
  /// all. All ranks call it together. A rank that cannot read or write a state
  /// takes part to the end, and fails.
  runtime::Status take(std::vector<int> states);
  runtime::Status take() { return take(ownStates(session_)); }
  /// Puts back what the rank had, to the bit; nothing if nothing was taken.
  runtime::Status giveBack();

private:
  runtime::Session &session_;
  runtime::CommunicationThread &ranks_;
  std::vector<int> taken_;                // numbers of states
  std::vector<std::vector<uint8_t>> own_; // of each of them
};

/// Tests the means of `states`, which are all that a test reads of the own
/// ones, and gives each rank its own values back. `means` must outlive the
/// tester.
Tester testerOfMeans(Tester tester, RankMeans &means, std::vector<int> states);

} // namespace gradus::training
