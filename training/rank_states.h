// States that each rank has of its own, in the checkpoint that rank 0 writes.
//
// As a rule they are those of rank 0: what ranks have gathered means nothing
// when an update has been made. Those of which each rank has a part are put
// together when they are saved, and dealt out to any number of ranks when a run
// goes on: the file does not tell how many there were. Where a state is saved in the middle of one,
// the checkpoint has those of the other ranks, too, under names of their own
// (runtime/session/checkpoint.h), and stays one file. It always has those that
// last (runtime/well_known.h), such as what a rank has not sent yet.
//
// Where ranks have parameters of their own (`distribution.reduce` `partial`),
// the states themselves are the means over ranks, which anybody may read, and
// the checkpoint has those of rank 0 beside those of the others.

#pragma once

#include "runtime/collectives/communication_thread.h"
#include "runtime/session/session.h"
#include "training/observer.h"
#include "training/rank_means.h"

#include <functional>
#include <string>
#include <vector>

namespace gradus::training {

/// Gathers them on rank 0 before it saves, which has memory for those of all
/// ranks then. All ranks have one, and save together; it is added behind what
/// saves. Session and ranks must outlive this.
class RankStates : public Observer {
public:
  /// On rank 0, `writes` says whether the run has a checkpoint at all, and
  /// `isInside` whether it is saved in the middle of an update, so that it
  /// needs those that do not last, too. Nothing is gathered without a
  /// checkpoint. With `means` a checkpoint has all of them, and means; null
  /// where there is no use for these.
  RankStates(const runtime::Session &session,
             runtime::CommunicationThread &ranks, bool writes,
             std::function<bool()> isInside, RankMeans *means = nullptr)
      : session_(session), ranks_(ranks), writes_(writes),
        isInside_(std::move(isInside)), means_(means) {}

  runtime::Status beforeSave(SaveReport &report) override;
  runtime::Status onSave(const SaveReport &) override;

private:
  /// The values that ranks have of a state, on rank 0; `own` is the failure of
  /// this rank.
  runtime::StatusOr<std::vector<std::string>> gather(int number,
                                                     runtime::Status &own);
  runtime::Status gatherDealt(runtime::Status &own,
                              std::vector<runtime::NamedTensor> &others);
  runtime::Status gatherOwn(bool all, runtime::Status &own,
                            std::vector<runtime::NamedTensor> &others);

  const runtime::Session &session_;
  runtime::CommunicationThread &ranks_;
  bool writes_;
  std::function<bool()> isInside_;
  RankMeans *means_;
  std::vector<std::string>
      values_; // of others, on rank 0, until they are saved
};

/// Gives each rank its own states in `checkpoint`, which rank 0 has loaded; all
/// ranks call it together, and only rank 0's path counts. They travel one by
/// one, each to all ranks. Where they are of
/// another number of ranks it is an error, if some of them last; else returns a
/// remark, and all have those of rank 0, or the means.
runtime::StatusOr<std::string>
restoreRankStates(runtime::Session &session,
                  runtime::CommunicationThread &ranks,
                  const std::string &checkpoint);

/// The remark, or error, for a process alone, which goes on from a checkpoint
/// of ranks.
runtime::StatusOr<std::string> remarkAlone(const runtime::Session &session,
                                           const std::string &checkpoint);

} // namespace gradus::training
