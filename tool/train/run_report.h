// The report of a run: collects curves while it trains, and writes the page.

#pragma once

#include "tool/report/curve.h"
#include "tool/text.h"
#include "tool/train/training_outline.h"
#include "tool/train/training_summary.h"
#include "training/data/feed.h"
#include "training/observer.h"

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace gradus::cli {

/// Says how a run came to its end.
struct RunEnd {
  /// It is "done", "stopped early", "interrupted" or "failed"; before its end a
  /// run is "running".
  std::string how = "done";
  std::string why; // of "interrupted" and "failed"
};

/// A run that goes on, for as long as there is something to tell of it.
struct RunView {
  const runtime::Session *session = nullptr;
  std::function<TrainingSummary()> summary; // of the steps so far
  TrainingOutline outline;
  uint64_t seed = 0;
};

/// Listens to a trainer as its last observer, so that watched values are there.
/// It changes nothing of the run, and costs a step what adding its figures to
/// curves takes. The page of a run that goes on is written after epochs, tests
/// and saves, unless the last one is young. Nothing that goes wrong there ends
/// the run: a warning says so once, and again only after a page was written.
class RunReport : public training::Observer {
public:
  using Clock = std::chrono::steady_clock;

  /// A page of a run that goes on is written if the last one is older than
  /// `pause`.
  explicit RunReport(const TrainOptions &options,
                     Clock::duration pause = std::chrono::seconds(10))
      : options_(options), pause_(pause) {}

  runtime::Status onStep(training::StepReport &report) override;
  runtime::Status onPiece(const training::PieceReport &report) override;
  runtime::Status onEpoch(const training::EpochReport &report) override;
  runtime::Status onTest(const training::TestReport &report) override;
  runtime::Status onSave(const training::SaveReport &report) override;

  /// Must come before the first step.
  void begin(RunView view);
  /// The steps are done: every page from now on has this summary.
  void finish(const TrainingSummary &summary);
  /// Predicts the test data once more with the final state, and compares sample
  /// by sample; `classes` are the classes' names, if they have some. Data that
  /// cannot be read, or a signal, leave the scores out, with a warning.
  void score(runtime::Session &session, const data::Feed &test,
             std::vector<std::string> classes, int dataThreads);
  /// Says why there are no scores.
  void leaveScoresOut(const std::string &words) { scoreWords_ = words; }

  /// Everything so far as the data of a report.
  nlohmann::ordered_json data(const RunEnd &end) const;
  /// Writes it to the file of --report, whole or not at all.
  void write(const RunEnd &end) const;

private:
  void refresh();
  void compare(runtime::Session &session, const data::Feed &test,
               std::vector<std::string> classes, int dataThreads);
  void failScores(const std::string &why);
  nlohmann::ordered_json runJson(const TrainingSummary &summary,
                                 const RunEnd &end) const;
  nlohmann::ordered_json memoryJson(const TrainingSummary &summary) const;
  nlohmann::ordered_json warningsJson() const;

  const TrainOptions &options_;
  HeardWords heard_;
  RunView view_;
  Clock::duration pause_;
  Clock::time_point written_; // the last page, or the begin
  bool isFailing_ = false;    // the last page could not be written
  Curves curves_;
  nlohmann::ordered_json scores_ = nlohmann::ordered_json::array(),
                         worst_ = nullptr;
  std::string scoreWords_ = "Predictions are compared at the end of a run that "
                            "comes to its end.";
};

} // namespace gradus::cli
