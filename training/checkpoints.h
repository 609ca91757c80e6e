// Saves the state during training: when, under which names, and what happens if
// it fails.
//
// One file is always the newest state. Of several that are kept each has a name
// of its own beside it: lenet.safetensors, lenet.step440.safetensors. The best
// one is lenet.best.safetensors.

#pragma once

#include "runtime/file.h"
#include "runtime/session/session.h"
#include "training/observer.h"
#include "training/remark.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gradus::training {

/// An interval in text: "30" and "30s" are seconds; "5min", "2h", "500steps",
/// "2epochs".
struct Interval {
  enum class Unit { seconds, steps, epochs };
  Unit unit = Unit::seconds;
  double count = 30;

  /// Parses an interval; nothing if the text is none.
  static std::optional<Interval> parse(const std::string &text);
  /// The steps of an interval in steps or epochs; an epoch has `perEpoch`.
  int64_t steps(int64_t perEpoch) const;
};

struct CheckpointOptions {
  std::string path; // empty: none
  std::string every = "30s";
  int64_t keep = 0;  // 0: only the newest
  bool goOn = false; // if one cannot be written
  /// These words end the error of a file that cannot be made at the beginning.
  std::string advice = {};
};

/// Returns lenet.best.safetensors for lenet.safetensors and "best".
std::string siblingPath(const std::string &path, const std::string &word);

/// Whether a file has a name of kept checkpoints beside `checkpoint`
/// (lenet.step440.safetensors), before or after following its links.
bool isKeptName(const std::string &file, const std::string &checkpoint);

/// The files beside `checkpoint` with such names, each with its step.
std::vector<std::pair<int64_t, std::filesystem::path>>
keptFiles(const std::string &checkpoint);

/// The files of a run that no other process may write meanwhile. They are held
/// before the run reads them, so that it continues from the newest state.
struct HeldCheckpoints {
  std::optional<runtime::FileHold> newest, best;
};

/// Fails if another process holds one of them; says which of its files it is in
/// the error. With `best`, the file of the best state is held, too.
runtime::StatusOr<HeldCheckpoints>
holdCheckpoints(const CheckpointOptions &options, bool best);

class Checkpoints : public Observer {
public:
  /// Fails if the file cannot be written, before any work is done. `perEpoch`
  /// steps are an epoch. The session must outlive this.
  static runtime::StatusOr<Checkpoints>
  create(const runtime::Session &session, const CheckpointOptions &options,
         int64_t perEpoch, HeldCheckpoints held = {}, Tell tell = {});

  /// Says that the run continues from a `file` of step `step`, which may be the
  /// one that it writes.
  void goOnFrom(const std::string &file, int64_t step);

  /// The number of steps that may run after step `done` before a checkpoint is
  /// due.
  int64_t stepsUntilDue(int64_t done) const;
  /// Whether a checkpoint is due after step `done`.
  bool isDue(int64_t done) const;

  /// Saves the state. If that fails, so does the run, or it continues after a
  /// warning if the options say so and it is not the last one.
  runtime::Status onSave(const SaveReport &report) override;
  /// Adds what is still there.
  runtime::Status onFailedStep(const runtime::Status &why) override;
  /// Fails if the best state could not be written and no better one came after
  /// it: its file is not what the run reports.
  runtime::Status finish() const;
  /// A suffix for errors: "; the checkpoint of step 440 is still there", if
  /// this run has written one, or continues in its file, and nobody has removed
  /// it.
  std::string stillThere() const;

private:
  Checkpoints(const runtime::Session &session, const CheckpointOptions &options,
              int64_t perEpoch, HeldCheckpoints held, Tell tell);
  runtime::Status tryFile();
  runtime::Status write(const SaveReport &report);
  void prune(int64_t done) const;
  runtime::Status fail(const runtime::Status &failure, bool last) const;

  const runtime::Session *session_;
  CheckpointOptions options_;
  HeldCheckpoints held_;
  Tell tell_;
  Interval every_;
  int64_t perEpoch_;
  runtime::Status best_;          // the last write's
  std::optional<int64_t> newest_; // the step of the newest state's file
  std::chrono::steady_clock::time_point saved_;
};

} // namespace gradus::training
