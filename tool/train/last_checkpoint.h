// The newest checkpoint of a run, for the line about a rank that has died:
// every rank knows it, as any may be the one that is left to say it.

#pragma once

#include "training/observer.h"

#include <optional>
#include <string>

namespace gradus::cli {

/// Comes behind what saves the state, among the observers of a trainer.
class LastCheckpoint : public training::Observer {
public:
  /// `path` is the checkpoint that rank 0 writes, empty if it writes none;
  /// `resumed` what the run goes on from, which may be the same file.
  LastCheckpoint(std::string path, const std::string &resumed);

  bool isKept() const { return !path_.empty(); }
  /// The step at which the run begins.
  void begin(int64_t step);
  runtime::Status onPiece(const training::PieceReport &report) override;
  runtime::Status onSave(const training::SaveReport &report) override;

  /// Says what is left of the run, behind a failure: "; the last checkpoint is
  /// lenet.safetensors of step 440; continue with: ...". Rank 0 may have died
  /// while it wrote one, so the file itself is asked where this rank can see
  /// it.
  std::string advice() const;

private:
  std::optional<int64_t> stepOfFile() const;

  std::string path_, resumed_;
  bool goesOn_;                            // from the file that it writes
  std::optional<int64_t> begun_, written_; // steps: rank 0 has begun to save
                                           // the state; and has saved it
};

} // namespace gradus::cli
