// An overflow that a loss scale handles is no failure.

#include "training/finite_checks.h"

#include "absl/strings/str_cat.h"

#include <cmath>

using namespace gradus::runtime;

namespace gradus::training {

static bool hasLossScale(const nlohmann::json &recipe) {
  return recipe.contains("loss_scale") && recipe["loss_scale"].is_object();
}

static std::string onNonfinite(const nlohmann::json &recipe) {
  auto found = recipe.find("on_nonfinite");
  return found != recipe.end() && found->is_string() ? found->get<std::string>()
                                                     : "stop";
}

FiniteChecks::FiniteChecks(Session &session, const nlohmann::json &recipe,
                           FiniteOptions options)
    : session_(&session), options_(std::move(options)),
      stops_(onNonfinite(recipe) == "stop"),
      looksAway_(onNonfinite(recipe) == "continue"),
      skipsSteps_(hasLossScale(recipe)),
      left_(options_.saves
                ? "nothing was saved after the last checkpoint"
                : "nothing was saved, since the run keeps no checkpoint") {}

StatusOr<FiniteChecks> FiniteChecks::create(Session &session,
                                            const nlohmann::json &recipe,
                                            FiniteOptions options) {
  FiniteChecks checks(session, recipe, std::move(options));
  if (checks.stops_ && checks.options_.saves) {
    GRADUS_ASSIGN(checks.spoiled_,
                  SpoiledStates::create(session, checks.skipsSteps_));
  }
  session.searchNonfinite(checks.options_.searches);
  return checks;
}

Status FiniteChecks::checkStep(const StepReport &report) {
  for (const Metric &metric : report.figures) {
    bool expected = !stops_ || (skipsSteps_ && metric.name == "gradient_norm");
    if (!expected && !std::isfinite(metric.value))
      return failureOf(report, metric);
  }
  return options_.searches ? checkStates(report.step) : Status();
}

Status FiniteChecks::failureOf(const StepReport &report,
                               const Metric &metric) const {
  std::string found = session_->firstNonfinite();
  std::string first = found.empty() ? "" : ". First " + found;
  std::string what = absl::StrCat("step ", report.step, ": ", metric.name,
                                  " is ", metric.value, "; ");
  const data::Feed *feed = options_.feed;
  if (feed) {
    std::string data = feed->firstNonfinite();
    if (data.empty() && feed->batchWeight(report.inputs) == 0)
      return failed(what, feed->source(),
                    ": no label of its batch counts for the loss: all are "
                    "ignored, or of classes that weigh 0; ",
                    left_,
                    ". A larger batch, or on_nonfinite \"skip\" in the "
                    "recipe, leads on");
    if (!data.empty())
      return failed(what, feed->source(), ": ", data, "; ", left_, first);
  }
  return failed(what, left_, ". A lower learning rate may help",
                !found.empty()      ? first
                : options_.searches ? ""
                                    : options_.advice);
}

/// The step at which a state becomes non-finite is reported, though metrics may
/// only be so in the next one.
Status FiniteChecks::checkStates(int64_t step) {
  std::string found = session_->firstNonfinite(),
              state = session_->spoiledState();
  if (!found.empty() && stops_ && !state.empty())
    return failed("step ", step, ": the state ", state,
                  " is no longer finite; ", left_, ". First ", found);
  if (!found.empty() && !stops_ && !told_)
    tellIf(options_.tell, Remark::note,
           absl::StrCat("step ", step, ": first ", found));
  told_ |= !found.empty();
  return {};
}

Status FiniteChecks::onSave(const SaveReport &report) {
  std::string state;
  if (spoiled_) {
    GRADUS_ASSIGN(state, spoiled_->first());
  }
  if (state.empty())
    return {};
  return failed("step ", report.step, ": the state ", state,
                " is no longer finite; ", left_,
                ". A lower learning rate may help");
}

/// Fails if a metric is not finite; `left` says what is left.
Status FiniteChecks::checkTest(int64_t step, const std::vector<Metric> &figures,
                               const char *left) const {
  for (const Metric &metric : figures)
    if (!std::isfinite(metric.value))
      return failed(options_.testSource, ": ",
                    absl::StrCat("step ", step, ": test ", metric.name, " is ",
                                 metric.value, "; "),
                    left);
  return {};
}

Status FiniteChecks::onTest(const TestReport &report) {
  return stops_ ? checkTest(report.step, report.figures, left_) : Status();
}

Status FiniteChecks::checkLastTest(int64_t step,
                                   const std::vector<Metric> &figures) const {
  return looksAway_ ? Status()
                    : checkTest(step, figures, "training went on to its end");
}

} // namespace gradus::training
