// Numbers are written so that they read back as the same bits; JSON has no NaN,
// so null stands for it.

#include "frontends/cli/training_record.h"

#include "frontends/json_text.h"
#include "runtime/safetensors.h"

#include <algorithm>
#include <cmath>
#include <limits>

using nlohmann::json;
using nlohmann::ordered_json;

namespace gradus::cli {

static bool counts(const Metric &metric) {
  return metric.name != "gradient_norm" || std::isfinite(metric.value);
}

void EpochFigures::add(const std::vector<Metric> &metrics) {
  sums_.resize(metrics.size());
  for (size_t i = 0; i < metrics.size(); ++i) {
    sums_[i].name = metrics[i].name;
    if (isStanding(metrics[i].name)) {
      sums_[i].value = metrics[i].value;
      sums_[i].count = 1;
    } else if (counts(metrics[i])) {
      sums_[i].value += metrics[i].value;
      ++sums_[i].count;
    }
  }
  ++steps_;
}

std::vector<Metric> EpochFigures::figures() const {
  std::vector<Metric> figures;
  for (const Sum &sum : sums_)
    figures.push_back(
        {sum.name, sum.count ? sum.value / sum.count
                             : std::numeric_limits<double>::quiet_NaN()});
  return figures;
}

void EpochFigures::clear() {
  sums_.clear();
  steps_ = 0;
}

ordered_json EpochFigures::toJson() const {
  ordered_json sums = ordered_json::array();
  for (const Sum &sum : sums_)
    sums.push_back({sum.name, sum.value, sum.count});
  return {{"steps", steps_}, {"sums", sums}};
}

void EpochFigures::restore(const json &json) {
  clear();
  auto has = [&](const char *key) { return json.contains(key); };
  if (!has("sums") || !json["sums"].is_array() || !has("steps") ||
      !json["steps"].is_number_integer())
    return;
  for (const auto &sum : json["sums"]) {
    if (!sum.is_array() || sum.size() != 3 || !sum[0].is_string() ||
        !sum[2].is_number_integer())
      return clear();
    double value = sum[1].is_number()
                       ? sum[1].get<double>()
                       : std::numeric_limits<double>::quiet_NaN();
    sums_.push_back({sum[0].get<std::string>(), value, sum[2].get<int64_t>()});
  }
  steps_ = json["steps"].get<int64_t>();
}

std::string TrainingRecord::text() const {
  ordered_json object = {{"seed", seed},
                         {"samples", samples},
                         {"batch", batch},
                         {"epoch", epoch},
                         {"reported", reported}};
  if (validation > 0)
    object["validation"] = validation;
  if (!best.is_null())
    object["best"] = best;
  if (!bestAtEnd.is_null())
    object["best_at_end"] = bestAtEnd;
  if (!classes.empty())
    object["classes"] = classes;
  if (!passes.empty())
    object["passes"] = passes;
  if (!normalize.empty())
    object["normalize"] = normalize;
  return jsonText(object);
}

std::optional<TrainingRecord>
TrainingRecord::ofCheckpoint(const std::string &path) {
  auto file = runtime::Safetensors::open(path);
  if (!file.ok() || !file->metadata().contains("training"))
    return std::nullopt;
  json object = json::parse(file->metadata().at("training"), nullptr,
                            /*allow_exceptions=*/false);
  if (!object.is_object())
    return std::nullopt;
  TrainingRecord record;
  try {
    record.seed = object.value("seed", uint64_t(0));
    record.samples = object.value("samples", int64_t(0));
    record.batch = object.value("batch", int64_t(0));
    record.epoch = object.value("epoch", json());
    record.best = object.value("best", json());
    record.bestAtEnd = object.value("best_at_end", json());
    record.reported = object.value("reported", false);
    record.validation = object.value("validation", 0.0);
    record.classes = object.value("classes", std::vector<std::string>());
    record.passes = object.value("passes", std::vector<std::string>());
    record.normalize = object.value("normalize", json());
  } catch (const json::exception &) {
    return std::nullopt; // written by something else
  }
  return record;
}

} // namespace gradus::cli
