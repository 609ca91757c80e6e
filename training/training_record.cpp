// Numbers are written so that they read back as the same bits; JSON has no NaN,
// so null stands for it.

#include "training/training_record.h"

#include "messages/json_text.h"
#include "runtime/safetensors.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

using nlohmann::json;
using nlohmann::ordered_json;

namespace gradus::training {

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

/// The sum of one scalar, as toJson() writes it; nothing for other JSON.
static std::optional<Metric> readSum(const json &sum, int64_t &count) {
  if (!sum.is_array() || sum.size() != 3 || !sum[0].is_string() ||
      !(sum[1].is_number() || sum[1].is_null()) || !sum[2].is_number_integer())
    return std::nullopt;
  count = sum[2].get<int64_t>();
  if (count < 0)
    return std::nullopt;
  return Metric{sum[0].get<std::string>(),
                sum[1].is_number() ? sum[1].get<double>()
                                   : std::numeric_limits<double>::quiet_NaN()};
}

bool EpochFigures::restore(const json &json) {
  clear();
  auto has = [&](const char *key) { return json.contains(key); };
  if (!has("sums") || !json["sums"].is_array() || !has("steps") ||
      !json["steps"].is_number_integer() || json["steps"] < 0)
    return false;
  for (const auto &sum : json["sums"]) {
    int64_t count = 0;
    std::optional<Metric> figure = readSum(sum, count);
    if (!figure) {
      clear();
      return false;
    }
    sums_.push_back({figure->name, figure->value, count});
  }
  steps_ = json["steps"].get<int64_t>();
  return true;
}

std::string TrainingRecord::text() const {
  ordered_json object = {{"seed", seed},
                         {"samples", samples},
                         {"batch", batch},
                         {"epoch", epoch},
                         {"reported", reported}};
  if (ranks > 0)
    object["ranks"] = ranks;
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
  if (!plan.empty())
    object["plan"] = plan;
  if (!normalize.is_null())
    object["normalize"] = normalize;
  if (!recipe.is_null())
    object["recipe"] = recipe;
  return jsonText(object);
}

/// Whether both are null or of the form that toJson() of the figures and of the
/// best writes.
static bool areFigures(const json &epoch, const json &best) {
  EpochFigures figures;
  return (epoch.is_null() || figures.restore(epoch)) &&
         (best.is_null() || best.is_object());
}

static bool isObjectOrNull(const json &value) {
  return value.is_object() || value.is_null();
}

/// A number that counts something: 0 if there is none, -1 if it is none that a
/// count can have.
static int64_t countIn(const json &object, const char *key) {
  auto found = object.find(key);
  if (found == object.end())
    return 0;
  bool isCount =
      found->is_number_unsigned() && found->get<uint64_t>() <= INT64_MAX;
  return isCount ? found->get<int64_t>() : -1;
}

std::optional<TrainingRecord> TrainingRecord::parse(const std::string &text) {
  json object = parsedJson(text);
  if (!object.is_object() || !object.contains("seed") ||
      !object["seed"].is_number_unsigned())
    return std::nullopt;
  TrainingRecord record;
  try {
    record.seed = object.value("seed", uint64_t(0));
    record.samples = countIn(object, "samples");
    record.batch = countIn(object, "batch");
    record.ranks = countIn(object, "ranks");
    record.epoch = object.value("epoch", json());
    record.best = object.value("best", json());
    record.bestAtEnd = object.value("best_at_end", json());
    record.reported = object.value("reported", false);
    record.validation = object.value("validation", 0.0);
    record.classes = object.value("classes", std::vector<std::string>());
    record.passes = object.value("passes", std::vector<std::string>());
    record.plan = object.value("plan", std::string());
    record.normalize = object.value("normalize", json());
    record.recipe = object.value("recipe", json());
  } catch (const json::exception &) {
    return std::nullopt; // written by something else
  }
  bool isPart = record.validation >= 0 && record.validation < 1;
  bool areParts = record.ranks > 0 ? record.batch % record.ranks == 0
                                   : !object.contains("ranks");
  if (record.samples < 0 || record.batch < 0 || !areParts || !isPart ||
      !areFigures(record.epoch, record.best) ||
      !areFigures(json(), record.bestAtEnd) ||
      !isObjectOrNull(record.normalize) || !isObjectOrNull(record.recipe))
    return std::nullopt;
  return record;
}

runtime::StatusOr<std::optional<TrainingRecord>>
TrainingRecord::ofCheckpoint(const std::string &path) {
  auto file = runtime::Safetensors::open(path);
  if (!file.ok() || !file->metadata().contains("training"))
    return std::optional<TrainingRecord>();
  auto record = parse(file->metadata().at("training"));
  if (!record)
    return runtime::invalid(
        path, ": what it says of its training (`training` in its metadata: the "
              "seed, the samples, the figures of the epoch) cannot be read; "
              "without that entry the run goes on, in the recipe's order of "
              "the samples");
  return record;
}

runtime::StatusOr<std::optional<TrainingRecord>>
TrainingRecord::loadIfThere(runtime::Session &session,
                            const std::string &path) {
  std::error_code none;
  if (!std::filesystem::exists(path, none))
    return std::optional<TrainingRecord>();
  GRADUS_TRY(session.loadCheckpoint(path));
  return ofCheckpoint(path);
}

} // namespace gradus::training
