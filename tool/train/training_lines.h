// Shows a training that runs: a progress bar, and a line for each epoch and
// each test.

#pragma once

#include "tool/progress.h"
#include "training/observer.h"

namespace gradus::cli {

/// Draws the progress, and takes the bar away before anything is printed: the
/// first of the observers.
class ProgressBar : public training::Observer {
public:
  explicit ProgressBar(Progress &progress) : progress_(progress) {}

  runtime::Status onPiece(const training::PieceReport &report) override;
  runtime::Status onEpoch(const training::EpochReport &report) override;
  runtime::Status onTest(const training::TestReport &report) override;
  runtime::Status onSave(const training::SaveReport &report) override;

private:
  Progress &progress_;
};

/// Prints lines on stdout, as JSON or for people.
class TrainingLines : public training::Observer {
public:
  explicit TrainingLines(bool json) : json_(json) {}

  runtime::Status onEpoch(const training::EpochReport &report) override;
  runtime::Status onTest(const training::TestReport &report) override;

private:
  void printTest(int64_t step, int64_t steps, int64_t epoch,
                 const std::vector<training::Metric> &figures) const;

  bool json_;
};

} // namespace gradus::cli
