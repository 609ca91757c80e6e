// Ends training where a figure, a state or a test is no number and the recipe's
// `on_nonfinite` wants to stop there.

#pragma once

#include "frontends/cli/evaluation.h"
#include "frontends/cli/spoiled_states.h"

#include <nlohmann/json.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gradus::cli {

class FiniteChecks {
public:
  /// The session must outlive this. States are looked at where the run `saves`
  /// them; `debug` searches each step for the command that wrote what is none.
  FiniteChecks(runtime::Session &session, const nlohmann::json &recipe,
               bool saves, bool debug);

  /// Of a step that has run, counted from 1: its figures, and with `debug` what
  /// it left in the states. `inputs` are those of the step, of the feed.
  void checkStep(int64_t step, const std::vector<Metric> &figures,
                 const data::Feed &feed, std::span<const void *const> inputs);
  /// Of the state that is about to be saved: a step's own figures are of the
  /// state before it, so they may be finite yet.
  void checkSaved(int64_t step) const;
  /// Of the figures of a test on the data of `source`.
  void checkTested(int64_t step, const std::vector<Metric> &figures,
                   const std::string &source) const;
  /// The same of the last test, which a run that skips steps answers for too.
  void checkLastTest(int64_t step, const std::vector<Metric> &figures,
                     const std::string &source) const;

private:
  void checkFigures(int64_t step, const std::vector<Metric> &figures,
                    const data::Feed &feed,
                    std::span<const void *const> inputs) const;
  void checkStates(int64_t step);

  runtime::Session &session_;
  bool stops_, looksAway_, skipsSteps_, debug_, told_ = false;
  const char *saved_; // what is left where a run stops
  std::optional<SpoiledStates> spoiled_;
};

} // namespace gradus::cli
