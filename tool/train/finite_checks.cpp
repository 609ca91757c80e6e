// An overflow that a loss scale handles is no failure.

#include "tool/train/finite_checks.h"

#include "tool/failure.h"
#include "tool/text.h"

#include <cmath>

namespace gradus::cli {

static bool hasLossScale(const nlohmann::json &recipe) {
  return recipe.contains("loss_scale") && recipe["loss_scale"].is_object();
}

FiniteChecks::FiniteChecks(runtime::Session &session,
                           const nlohmann::json &recipe, bool saves, bool debug)
    : session_(session), skipsSteps_(hasLossScale(recipe)), debug_(debug),
      saved_(saves ? "nothing was saved after the last checkpoint"
                   : "nothing was saved, since the run keeps no checkpoint") {
  std::string onNonfinite = recipe.value("on_nonfinite", "stop");
  stops_ = onNonfinite == "stop";
  looksAway_ = onNonfinite == "continue";
  if (stops_ && saves)
    spoiled_.emplace(session, /*weightsAlone=*/skipsSteps_);
  session.searchNonfinite(debug);
}

void FiniteChecks::checkStep(int64_t step, const std::vector<Metric> &figures,
                             const data::Feed &feed,
                             std::span<const void *const> inputs) {
  checkFigures(step, figures, feed, inputs);
  if (debug_)
    checkStates(step);
}

void FiniteChecks::checkFigures(int64_t step,
                                const std::vector<Metric> &figures,
                                const data::Feed &feed,
                                std::span<const void *const> inputs) const {
  for (const Metric &metric : figures) {
    bool expected = !stops_ || (skipsSteps_ && metric.name == "gradient_norm");
    if (expected || std::isfinite(metric.value))
      continue;
    std::string found = session_.firstNonfinite(), data = feed.firstNonfinite();
    if (data.empty() && feed.batchWeight(inputs) == 0)
      throw failed("step ", step, ": ", metric.name, " is ", metric.value, "; ",
                   feed.source(),
                   ": no label of its batch counts for the loss: all are "
                   "ignored, or of classes that weigh 0; ",
                   saved_,
                   ". A larger batch, or on_nonfinite \"skip\" in the recipe, "
                   "leads on");
    if (!data.empty())
      throw failed("step ", step, ": ", metric.name, " is ", metric.value, "; ",
                   feed.source(), ": ", data, "; ", saved_,
                   found.empty() ? "" : ". First " + found);
    throw failed("step ", step, ": ", metric.name, " is ", metric.value, "; ",
                 saved_, ". A lower learning rate may help",
                 found.empty()
                     ? debug_ ? "" : "; --debug-nonfinite names the node"
                     : ". First " + found);
  }
}

/// The step at which a state becomes non-finite is reported, though metrics may
/// only be so in the next one.
void FiniteChecks::checkStates(int64_t step) {
  std::string found = session_.firstNonfinite(),
              state = session_.spoiledState();
  if (!found.empty() && stops_ && !state.empty())
    throw failed("step ", step, ": the state ", state, " is no longer finite; ",
                 saved_, ". First ", found);
  if (!found.empty() && !stops_ && !told_)
    note(absl::StrCat("step ", step, ": first ", found));
  told_ |= !found.empty();
}

void FiniteChecks::checkSaved(int64_t step) const {
  std::string state = spoiled_ ? spoiled_->first() : "";
  if (!state.empty())
    throw failed("step ", step, ": the state ", state, " is no longer finite; ",
                 saved_, ". A lower learning rate may help");
}

/// Throws if a metric is not finite; `saved` says what is left.
static void verifyNumbers(int64_t step, const std::vector<Metric> &figures,
                          const std::string &source, const char *saved) {
  for (const Metric &metric : figures)
    if (!std::isfinite(metric.value))
      throw failed(source, ": step ", step, ": test ", metric.name, " is ",
                   metric.value, "; ", saved);
}

void FiniteChecks::checkTested(int64_t step, const std::vector<Metric> &figures,
                               const std::string &source) const {
  if (stops_)
    verifyNumbers(step, figures, source, saved_);
}

void FiniteChecks::checkLastTest(int64_t step,
                                 const std::vector<Metric> &figures,
                                 const std::string &source) const {
  if (!looksAway_)
    verifyNumbers(step, figures, source, "training went on to its end");
}

} // namespace gradus::cli
