// When training saves its state, under which names, and what happens where it
// cannot.
//
// The file of --checkpoint is always the newest. `--keep K` gives the last K a
// name of their own beside it: lenet.safetensors, lenet.step440.safetensors.
// --best writes lenet.best.safetensors.

#pragma once

#include "frontends/cli/failure.h"
#include "runtime/file.h"
#include "runtime/session.h"

#include <chrono>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gradus::cli {

/// "30" and "30s": seconds; "5min", "2h", "500steps", "2epochs".
struct Interval {
  enum class Unit { seconds, steps, epochs };
  Unit unit = Unit::seconds;
  double count = 30;

  /// Nothing where the text is no interval.
  static std::optional<Interval> parse(const std::string &text);
  /// Of one that is counted in steps or epochs, of which each has `perEpoch`.
  int64_t steps(int64_t perEpoch) const;
};

struct CheckpointOptions {
  std::string path;       // empty: none
  bool isUnasked = false; // the path is defaultCheckpoint()'s
  std::string every = "30s";
  int64_t keep = 0;  // 0: the newest alone
  bool goOn = false; // where one cannot be written
};

/// The file that keeps the state if none is named: beside the artifact, such as
/// lenet.safetensors of lenet.gradus.
std::string defaultCheckpoint(const std::string &artifact);

/// The name of the checkpoint in errors: its option, or that it was not given.
std::string roleOf(const CheckpointOptions &options);

/// lenet.safetensors and "best": lenet.best.safetensors.
std::string siblingPath(const std::string &path, const std::string &word);

/// Whether a file has a name that --keep gives checkpoints beside `checkpoint`
/// (lenet.step440.safetensors), as it stands or behind its links.
bool isKeptName(const std::string &file, const std::string &checkpoint);

/// The files beside `checkpoint` that have such names, and their steps by them.
std::vector<std::pair<int64_t, std::filesystem::path>>
keptFiles(const std::string &checkpoint);

/// The files of a run that no other may write while it lasts. They are held
/// before it reads what they hold, so that it goes on from the newest state.
struct HeldCheckpoints {
  std::optional<runtime::FileHold> newest, best;
};

/// A Failure where another process has one of them. With `best`, that of --best
/// is held, too.
HeldCheckpoints holdCheckpoints(const CheckpointOptions &options, bool best);

class Checkpoints {
public:
  using Notes = std::map<std::string, std::string>;

  /// Fails where the file cannot be written: that is better known before the
  /// work. `perEpoch` steps are an epoch.
  Checkpoints(const runtime::Session &session, const CheckpointOptions &options,
              int64_t perEpoch, HeldCheckpoints held = {});

  /// Says that the run goes on from a `file` of step `step`, which may be the
  /// one that it writes.
  void goOnFrom(const std::string &file, int64_t step);

  /// How many steps may run after step `done` before one is due.
  int64_t stepsUntilDue(int64_t done) const;
  /// Whether one is due after step `done`.
  bool isDue(int64_t done) const;

  /// Saves the state after step `done`. Where that fails, training ends with
  /// the reason, or goes on after a warning if the options say so and it is not
  /// the `last`.
  void save(int64_t done, const Notes &notes, bool last = false);
  void saveBest(const Notes &notes);
  /// Fails where the best state could not be written and none that was better
  /// came after it: its file is not what the run says.
  void finish() const;
  /// Behind the words of a failure: "; the checkpoint of step 440 is still
  /// there", where this run has written one, or goes on in its file, and nobody
  /// has removed it.
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
  runtime::Status best_;          // of its last writing
  std::optional<int64_t> newest_; // step of the file of --checkpoint
  std::chrono::steady_clock::time_point saved_;
};

} // namespace gradus::cli
