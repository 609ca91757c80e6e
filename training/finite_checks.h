// Ends training if a metric, a state or a test is not finite and the recipe's
// `on_nonfinite` says to stop.

#pragma once

#include "training/data/feed.h"
#include "training/observer.h"
#include "training/remark.h"
#include "training/spoiled_states.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gradus::training {

struct FiniteOptions {
  /// The run saves states: they are checked before that.
  bool saves = false;
  /// Each step is searched for the command that first wrote a NaN or an
  /// infinity, which makes it several times slower.
  bool searches = false;
  /// Where the batches come from, to name bad data; may be null.
  const data::Feed *feed = nullptr;
  std::string testSource; // names the data of tests
  std::string advice;     // where nothing says which command it was
  Tell tell = {};
};

class FiniteChecks : public Observer {
public:
  /// The session must outlive this.
  static runtime::StatusOr<FiniteChecks> create(runtime::Session &session,
                                                const nlohmann::json &recipe,
                                                FiniteOptions options);

  /// Checks a step that has run: its metrics, and with a search the states
  /// after it.
  runtime::Status checkStep(const StepReport &report) override;
  /// Checks the state that is about to be saved: a step's own metrics are of
  /// the state before it, so they may still be finite.
  runtime::Status onSave(const SaveReport &report) override;
  runtime::Status onTest(const TestReport &report) override;
  /// Checks the last test, also in a run that skips steps.
  runtime::Status checkLastTest(int64_t step,
                                const std::vector<Metric> &figures) const;

private:
  FiniteChecks(runtime::Session &session, const nlohmann::json &recipe,
               FiniteOptions options);
  runtime::Status failureOf(const StepReport &report,
                            const Metric &metric) const;
  runtime::Status checkStates(int64_t step);
  runtime::Status checkTest(int64_t step, const std::vector<Metric> &figures,
                            const char *left) const;

  runtime::Session *session_;
  FiniteOptions options_;
  bool stops_, looksAway_, skipsSteps_, told_ = false;
  const char *left_; // what is left when a run stops
  std::optional<SpoiledStates> spoiled_;
};

} // namespace gradus::training
