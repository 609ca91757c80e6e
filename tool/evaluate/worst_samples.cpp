// Keeps a sorted list, which is short.

#include "tool/evaluate/worst_samples.h"

#include <algorithm>
#include <cmath>

using nlohmann::ordered_json;

namespace gradus::cli {

static bool isWorse(const SampleResult &one, const SampleResult &other) {
  if (std::isnan(one.loss) || std::isnan(other.loss))
    return std::isnan(one.loss) && !std::isnan(other.loss);
  return one.loss > other.loss;
}

void WorstSamples::add(const SampleResult &result,
                       const std::function<std::string()> &picture) {
  auto place = std::upper_bound(kept_.begin(), kept_.end(), result, isWorse) -
               kept_.begin();
  if (place == std::ssize(kept_) && kept_.size() >= most_)
    return;
  kept_.insert(kept_.begin() + place, Kept{result, picture()});
  if (kept_.size() > most_)
    kept_.pop_back();
}

ordered_json WorstSamples::json() const {
  ordered_json list = ordered_json::array();
  for (const Kept &each : kept_)
    list.push_back({{"sample", each.sample},
                    {"loss", each.loss}, // NaN is written as null
                    {"label", each.label},
                    {"predicted", each.predicted},
                    {"probability", each.probability},
                    {"picture", each.picture}});
  return list;
}

} // namespace gradus::cli
