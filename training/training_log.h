// The log of a training: JSON lines in a file, and events for TensorBoard.

#pragma once

#include "training/event_file.h"
#include "training/observer.h"
#include "training/remark.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace gradus::training {

struct LogOptions {
  std::string file = {};   // of JSON lines; empty: none
  std::string events = {}; // a folder for TensorBoard; empty: none
  /// The step after which a run resumes. It continues the file: lines of later
  /// steps, which will come again, are removed.
  std::optional<int64_t> from = {};
  /// If that step is inside an epoch that continues, the line of its first part
  /// is removed, too.
  bool isInside = false;
  Tell tell = {};
  /// Errors call the file and the folder so.
  std::string fileRole = "log", eventsRole = "event folder";
};

/// Writes {"step": ..., "epoch": ..., the figures} a line for each step, and
/// {"epoch": ..., "step": ..., "train": ..., "test": ...} for each epoch. A
/// training counts more than its log: what cannot be written ends with a
/// warning, and finish() fails.
class TrainingLog : public Observer {
public:
  /// Refuses a file that holds anything but lines of a log. A warning says if
  /// it lacks steps before the one that it continues from.
  static runtime::StatusOr<std::unique_ptr<TrainingLog>>
  open(LogOptions options);
  /// However the run ends, the rest is written, or a warning says that it is
  /// not.
  ~TrainingLog() override;
  TrainingLog(const TrainingLog &) = delete;

  /// The last step in a log; 0 if there is none, or no log.
  static int64_t lastStepOf(const std::string &path);

  runtime::Status onStep(StepReport &report) override;
  runtime::Status onEpoch(const EpochReport &report) override;
  runtime::Status onTest(const TestReport &report) override;
  /// Writes all lines out: the log must never be behind the state.
  runtime::Status onSave(const SaveReport &report) override;
  /// Fails if a line did not reach its file.
  runtime::Status finish();

private:
  explicit TrainingLog(LogOptions options) : options_(std::move(options)) {}
  runtime::Status openFile();
  void writeTest(int64_t step, int64_t epoch,
                 const std::vector<Metric> &figures);
  void flush();
  std::vector<std::string> cutFiles() const;
  void warnOfCut();

  LogOptions options_;
  std::ofstream file_;
  std::optional<EventFile> events_;
  std::vector<std::string> told_; // files that a warning has named
};

nlohmann::ordered_json toJson(const std::vector<Metric> &metrics);
/// The lines of an epoch, and of a test within one.
nlohmann::ordered_json lineOf(const EpochReport &report);
nlohmann::ordered_json testLine(int64_t step, int64_t epoch,
                                const std::vector<Metric> &figures);

} // namespace gradus::training
