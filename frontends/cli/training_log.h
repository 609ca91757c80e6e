// What training tells: lines for people, or JSON, and the --log file.

#pragma once

#include "frontends/cli/evaluation.h"

#include <nlohmann/json.hpp>

#include <fstream>
#include <string>
#include <vector>

namespace gradus::cli {

/// One epoch's figures.
struct EpochReport {
  int64_t epoch = 0, epochs = 0; // from 1; 0 epochs: not known
  int64_t step = 0;
  std::vector<Metric> train, test;
  double secondsPerStep = 0;
};

class TrainingLog {
public:
  /// `path` may be empty; a run that resumes adds to the file.
  TrainingLog(const std::string &path, bool append, bool json);

  void step(int64_t step, int64_t epoch, const std::vector<Metric> &metrics);
  void epoch(const EpochReport &report);
  /// Throws where a line did not reach the file: what was trained counts more
  /// than its log, so this is said when all is done.
  void finish();

private:
  std::string path_;
  std::ofstream file_;
  bool json_;
};

nlohmann::ordered_json toJson(const std::vector<Metric> &metrics);

} // namespace gradus::cli
