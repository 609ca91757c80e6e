// What training tells: lines for people, or JSON, and the --log file.

#pragma once

#include "frontends/cli/evaluation.h"
#include "frontends/cli/event_file.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <optional>
#include <string>
#include <vector>

namespace gradus::cli {

/// One epoch's figures.
struct EpochReport {
  int64_t epoch = 0, epochs = 0; // from 1; 0 epochs: not known
  int64_t step = 0;
  std::vector<Metric> train, test; // no test where none was due
  double secondsPerStep = 0;
};

class TrainingLog {
public:
  /// `path` may be empty. A run that resumes after step `from` goes on with the
  /// file: lines of later steps, which will come again, are taken off, and, if
  /// that step lies `inside` an epoch that goes on, the line of its first part.
  /// A file that holds anything but lines of a log is refused. The same figures
  /// go to an event file in the folder `events`, unless empty.
  /// A warning says where it lacks steps before that one.
  TrainingLog(const std::string &path, std::optional<int64_t> from, bool json,
              const std::string &events = "", bool inside = false);
  /// Whatever ends the run: what is left is written, or a warning says so.
  ~TrainingLog();
  TrainingLog(const TrainingLog &) = delete;

  /// The last step that a log tells of; 0: none, or no log.
  static int64_t lastStepOf(const std::string &path);

  void step(int64_t step, int64_t epoch, const std::vector<Metric> &metrics);
  void epoch(const EpochReport &report);
  /// The test figures of a step within an epoch.
  void test(const EpochReport &report, int64_t steps);
  /// All lines have left the process. What was trained counts more than its
  /// log: of the first one that cannot be written, here or above, a warning
  /// tells, and training goes on.
  void flush();
  /// Throws where a line did not reach its file.
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
