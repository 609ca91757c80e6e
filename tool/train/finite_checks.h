// Ends training if a metric, a state or a test is not finite and the recipe's
// `on_nonfinite` says to stop.

#pragma once

#include "tool/evaluate/evaluation.h"
#include "tool/train/spoiled_states.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gradus::cli {

class FiniteChecks {
public:
  /// The session must outlive this. States are checked where the run `saves`
  /// them; `debug` searches each step for the command that first wrote a NaN or
  /// an infinity.
  FiniteChecks(runtime::Session &session, const nlohmann::json &recipe,
               bool saves, bool debug);

  /// Checks a step that has run, counted from 1: its metrics, and with `debug`
  /// the states after it. `inputs` are those of the step, in the feed's order.
  void checkStep(int64_t step, const std::vector<Metric> &figures,
                 const data::Feed &feed, std::span<const void *const> inputs);
  /// Checks the state that is about to be saved: a step's own metrics are of
  /// the state before it, so they may still be finite.
  void checkSaved(int64_t step) const;
  /// Checks the metrics of a test on the data of `source`.
  void checkTested(int64_t step, const std::vector<Metric> &figures,
                   const std::string &source) const;
  /// Checks the last test, also in a run that skips steps.
  void checkLastTest(int64_t step, const std::vector<Metric> &figures,
                     const std::string &source) const;

private:
  void checkFigures(int64_t step, const std::vector<Metric> &figures,
                    const data::Feed &feed,
                    std::span<const void *const> inputs) const;
  void checkStates(int64_t step);

  runtime::Session &session_;
  bool stops_, looksAway_, skipsSteps_, debug_, told_ = false;
  const char *saved_; // what is left when a run stops
  std::optional<SpoiledStates> spoiled_;
};

} // namespace gradus::cli
