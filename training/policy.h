// The decisions of a run by itself: tests and checkpoints at intervals, the
// best state, early stopping.

#pragma once

#include "training/best_metric.h"
#include "training/checkpoints.h"
#include "training/decider.h"

#include <optional>
#include <string>

namespace gradus::training {

struct PolicyOptions {
  int64_t testEvery = 0; // steps; 0: there are no tests
  int64_t lookEvery = 0; // steps at which observers look, too; 0: none
  std::optional<BestMetric> best = {}; // by which the best state is kept
  int64_t patience = 0; // tests that find no better one before the end; 0: all
};

class Policy : public Decider {
public:
  /// `checkpoints`, which says when to save and must outlive this, may be null.
  Policy(const PolicyOptions &options, const Checkpoints *checkpoints);

  Decision atBorder(const Border &border) override;
  int64_t stepsToRun(int64_t done, int64_t most) override;
  void addTo(TrainingRecord &record) const override;
  void restore(const TrainingRecord &record) override;

  /// Whether the patience is at its end.
  bool isStopped() const;
  /// The best test so far, "accuracy 0.9722 of step 440"; empty if no metric
  /// was named.
  std::string bestText() const { return kept_ ? kept_->text() : ""; }

private:
  Decision::Test testAt(const Border &border) const;
  bool judge(const Border &border);

  PolicyOptions options_;
  const Checkpoints *checkpoints_;
  // `best_` counts the tests that were due, by which a run stops; `kept_`
  // counts also the test at the end of a run, and keeps the best state.
  std::optional<BestMetric> best_, kept_;
};

} // namespace gradus::training
