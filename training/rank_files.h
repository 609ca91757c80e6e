// States that each rank has of its own, in files beside a checkpoint.
//
// A checkpoint is one file, with the states of rank 0. What other ranks have of
// their own (gradients that they have gathered for an update) each of them
// writes to a file beside it, named by step and rank, before rank 0 writes the
// checkpoint, which names their hashes: where it is, they are.

#pragma once

#include "runtime/collectives/communication_thread.h"
#include "runtime/session/session.h"
#include "training/checkpoints.h"
#include "training/observer.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace gradus::training {

/// Writes these files where a state is saved. Each rank has one, and all save
/// together. Session and ranks must outlive this.
class RankFiles : public Observer {
public:
  /// `options` are those of the run's checkpoints, and count on rank 0.
  /// `isWhole` says, on rank 0, whether its states are those of the run: then
  /// others have nothing of their own.
  RankFiles(const runtime::Session &session,
            runtime::CommunicationThread &ranks, CheckpointOptions options,
            std::function<bool()> isWhole)
      : session_(session), ranks_(ranks), options_(std::move(options)),
        isWhole_(std::move(isWhole)) {}

  /// Says that the run has read `file`. If that belongs to the checkpoint that
  /// it writes, and only the newest is kept, the next one supersedes it.
  void goOnFrom(std::string file) { read_ = std::move(file); }

  runtime::Status beforeSave(SaveReport &report) override;
  /// Removes what the last checkpoint does not name, as it is there now.
  void finish();

private:
  std::string checkpointOf(SaveKind kind) const;
  void supersede(const std::string &base, bool keepsOne);
  runtime::Status write(const std::string &path, const std::string &base,
                        SaveReport &report);

  const runtime::Session &session_;
  runtime::CommunicationThread &ranks_;
  CheckpointOptions options_;
  std::function<bool()> isWhole_;
  std::map<std::string, std::string>
      current_;                         // by the checkpoint that names it
  std::string read_;                    // of the checkpoint before this run
  std::vector<std::string> superseded_; // once the checkpoint is written
};

/// The result of restoring a rank's own states.
struct RestoredStates {
  std::string file;   // that they were read from; empty: from none
  std::string remark; // where they are of another number of ranks
};

/// Reads the own states of a rank that `checkpoint`, which rank 0 has loaded,
/// names; all ranks call it together, and only rank 0's path counts. Those of
/// another number of ranks are left alone, and all have rank 0's.
runtime::StatusOr<RestoredStates>
restoreRankStates(runtime::Session &session,
                  runtime::CommunicationThread &ranks,
                  const std::string &checkpoint);

/// The remark for a process alone, which goes on from a checkpoint of ranks.
runtime::StatusOr<std::string> remarkAlone(const std::string &checkpoint);

} // namespace gradus::training
