// The direction in which a metric is better, and the age of the best value.

#include "training/best_metric.h"

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include <algorithm>
#include <cmath>

namespace gradus::training {

static bool isBetterLarger(const std::string &name) {
  for (const char *known : {"accuracy", "top5", "f1", "r2"})
    if (name == known || absl::EndsWith(name, absl::StrCat("_", known)))
      return true;
  return false;
}

runtime::StatusOr<BestMetric> BestMetric::parse(const std::string &text) {
  size_t colon = text.rfind(':');
  BestMetric best;
  best.name_ = text.substr(0, colon);
  best.larger_ = isBetterLarger(best.name_);
  if (colon == std::string::npos)
    return best;
  std::string direction = text.substr(colon + 1);
  if (direction != "max" && direction != "min")
    return runtime::invalid(
        text, ": expected METRIC, METRIC:max or METRIC:min, found '", direction,
        "' after the colon");
  best.larger_ = direction == "max";
  return best;
}

runtime::Status
BestMetric::verifyIsAmong(const std::vector<std::string> &metrics) const {
  if (std::find(metrics.begin(), metrics.end(), name_) == metrics.end())
    return runtime::invalid(name_, ": evaluation gives ",
                            absl::StrJoin(metrics, ", "));
  return {};
}

bool BestMetric::update(const std::vector<Metric> &metrics, int64_t step) {
  for (const Metric &metric : metrics) {
    if (metric.name != name_)
      continue;
    bool better = !std::isnan(metric.value) &&
                  (!value_ ||
                   (larger_ ? metric.value > *value_ : metric.value < *value_));
    stale_ = better ? 0 : stale_ + 1;
    if (better) {
      value_ = metric.value;
      step_ = step;
    }
    return better;
  }
  return false;
}

std::string BestMetric::text() const {
  if (!value_)
    return "no " + name_ + " yet";
  return absl::StrFormat("%s %.4f of step %d", name_, *value_, step_);
}

nlohmann::ordered_json BestMetric::toJson() const {
  nlohmann::ordered_json json = {
      {"metric", name_}, {"larger", larger_}, {"stale", stale_}};
  if (value_)
    json.update({{"value", *value_}, {"step", step_}});
  return json;
}

/// A whole number in an object, or 0 if it is missing.
static int64_t countAt(const nlohmann::json &json, const char *key) {
  auto found = json.find(key);
  return found != json.end() && found->is_number_integer()
             ? found->get<int64_t>()
             : 0;
}

void BestMetric::restore(const nlohmann::json &json) {
  auto is = [&](const char *key, const nlohmann::json &wanted) {
    return json.contains(key) && json[key] == wanted;
  };
  if (!is("metric", name_) || !is("larger", larger_))
    return;
  stale_ = countAt(json, "stale");
  step_ = countAt(json, "step");
  if (json.contains("value") && json["value"].is_number())
    value_ = json["value"].get<double>();
}

} // namespace gradus::training
