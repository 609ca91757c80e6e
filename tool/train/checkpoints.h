// Saves the state during training: when, under which names, and what happens if
// it fails.
//
// The file of --checkpoint is always the newest. `--keep K` gives the last K a
// name of their own beside it: lenet.safetensors, lenet.step440.safetensors.
// --best writes lenet.best.safetensors.

#pragma once

#include "runtime/file.h"
#include "runtime/session/session.h"
#include "tool/failure.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gradus::cli {

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
  std::string path;       // empty: none
  bool isUnasked = false; // the path is defaultCheckpoint()'s
  std::string every = "30s";
  int64_t keep = 0;  // 0: only the newest
  bool goOn = false; // if one cannot be written
};

/// The file that keeps the state if none is named: beside the artifact, such as
/// lenet.safetensors for lenet.gradus.
std::string defaultCheckpoint(const std::string &artifact);

/// The name of the checkpoint in errors: its option, or that it was not given.
std::string roleOf(const CheckpointOptions &options);

/// Returns lenet.best.safetensors for lenet.safetensors and "best".
std::string siblingPath(const std::string &path, const std::string &word);

/// Whether a file has a name that --keep gives checkpoints beside `checkpoint`
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

/// Throws a Failure if another process holds one of them. With `best`, the file
/// of --best is held, too.
HeldCheckpoints holdCheckpoints(const CheckpointOptions &options, bool best);

class Checkpoints {
public:
  using Notes = std::map<std::string, std::string>;

  /// Fails if the file cannot be written, before any work is done. `perEpoch`
  /// steps are an epoch.
  Checkpoints(const runtime::Session &session, const CheckpointOptions &options,
              int64_t perEpoch, HeldCheckpoints held = {});

  /// Says that the run continues from a `file` of step `step`, which may be the
  /// one that it writes.
  void goOnFrom(const std::string &file, int64_t step);

  /// The number of steps that may run after step `done` before a checkpoint is
  /// due.
  int64_t stepsUntilDue(int64_t done) const;
  /// Whether a checkpoint is due after step `done`.
  bool isDue(int64_t done) const;

  /// Saves the state after step `done`. If that fails, training ends with the
  /// reason, or continues after a warning if the options say so and it is not
  /// the `last`.
  void save(int64_t done, const Notes &notes, bool last = false);
  void saveBest(const Notes &notes);
  /// Throws a Failure if the best state could not be written and no better one
  /// came after it: its file is not what the run reports.
  void finish() const;
  /// A suffix for errors: "; the checkpoint of step 440 is still there", if
  /// this run has written one, or continues in its file, and nobody has removed
  /// it.
  std::string stillThere() const;

private:
  runtime::Status write(int64_t done, const Notes &notes);
  void prune(int64_t done) const;
  void fail(const Failure &failure, bool last) const;

  const runtime::Session &session_;
  const CheckpointOptions options_;
  HeldCheckpoints held_;
  Interval every_;
  int64_t perEpoch_;
  runtime::Status best_;          // the last write's
  std::optional<int64_t> newest_; // the step of --checkpoint's file
  std::chrono::steady_clock::time_point saved_;
};

} // namespace gradus::cli
