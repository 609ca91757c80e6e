// The output of training: lines for people, or JSON, and the --log file.

#pragma once

#include "tool/evaluate/evaluation.h"
#include "tool/evaluate/event_file.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace gradus::cli {

/// The figures of one epoch.
struct EpochReport {
  int64_t epoch = 0, epochs = 0; // from 1; 0 epochs: not known
  int64_t step = 0;
  std::vector<Metric> train, test; // no test where none was due
  double secondsPerStep = 0;
};

class TrainingLog {
public:
  /// Opens a log; `path` may be empty. A run that resumes after step `from`
  /// continues the file: lines of later steps, which will come again, are
  /// removed, and, if that step is `inside` an epoch that continues, the line
  /// of its first part. A file that holds anything but lines of a log is
  /// refused. The same figures go to an event file in the folder `events`,
  /// unless empty. A warning says if the file lacks steps before that one.
  TrainingLog(const std::string &path, std::optional<int64_t> from, bool json,
              const std::string &events = "", bool inside = false);
  /// However the run ends, the rest is written, or a warning says that it is
  /// not.
  ~TrainingLog();
  TrainingLog(const TrainingLog &) = delete;

  /// The last step in a log; 0 if there is none, or no log.
  static int64_t lastStepOf(const std::string &path);

  void step(int64_t step, int64_t epoch, const std::vector<Metric> &metrics);
  void epoch(const EpochReport &report);
  /// The test figures of a step within an epoch.
  void test(const EpochReport &report, int64_t steps);
  /// Writes all lines out. Training counts more than its log: a warning reports
  /// the first line that cannot be written, here or above, and training
  /// continues.
  void flush();
  /// Throws if a line did not reach its file.
  void finish();

private:
  std::vector<std::string> cutFiles() const;
  void warnOfCut();

  std::string path_;
  std::ofstream file_;
  bool json_;
  std::optional<EventFile> events_;
  std::vector<std::string> told_; // files that a warning has named
};

nlohmann::ordered_json toJson(const std::vector<Metric> &metrics);

} // namespace gradus::cli
