// The states of ranks, which are equal on all of them.

#pragma once

#include "runtime/collectives/communication_thread.h"
#include "runtime/session/session.h"
#include "training/observer.h"

namespace gradus::training {

/// Gives all ranks the states of rank 0; all call it together.
runtime::Status copyFromRankZero(runtime::Session &session,
                                 runtime::CommunicationThread &ranks);

/// Compares the states of all ranks with those of rank 0, after `step` steps.
/// States that are each rank's own are left out, unless the ranks have just
/// met: then they are equal, too. All ranks return the same error, which names
/// the first state that differs and the rank.
runtime::Status compareReplicas(const runtime::Session &session,
                                runtime::CommunicationThread &ranks,
                                int64_t step, bool haveMet = false);

/// Compares them after every so many steps, where a piece must end
/// (PolicyOptions::lookEvery), and at the end.
class ReplicaCheck : public Observer {
public:
  /// `haveMet` says that ranks train on their own and have met by then. Session
  /// and ranks must outlive this.
  ReplicaCheck(const runtime::Session &session,
               runtime::CommunicationThread &ranks, int64_t every,
               bool haveMet = false)
      : session_(session), ranks_(ranks), every_(every), haveMet_(haveMet) {}

  runtime::Status onPiece(const PieceReport &report) override;

private:
  const runtime::Session &session_;
  runtime::CommunicationThread &ranks_;
  int64_t every_;
  bool haveMet_;
};

} // namespace gradus::training
