// Training, evaluation and prediction prepare data alike because they read the
// same text.

#include "training/feeds.h"

#include "runtime/well_known.h"
#include "training/artifact_recipe.h"

#include <algorithm>
#include <cmath>

using namespace gradus::runtime;

namespace gradus::training {

/// A part of the recipe's `inputs`, by the name of the input.
static nlohmann::json inputsOf(const nlohmann::json &recipe, const char *key) {
  nlohmann::json inputs = recipe.value("inputs", nlohmann::json::object());
  return inputs.value(key, nlohmann::json::object());
}

nlohmann::json normalizationOf(const Session &session) {
  return inputsOf(recipeOf(session), "normalize");
}

/// The crop in a JSON object; null and false mean none.
static std::optional<data::ResizedCrop>
resizedCrop(const nlohmann::json &bounds) {
  if (!bounds.is_object())
    return std::nullopt;
  data::ResizedCrop crop;
  crop.scale = bounds.value("scale", crop.scale);
  crop.ratio = bounds.value("ratio", crop.ratio);
  crop.scaledDecoding = bounds.value("decode", "scaled") == "scaled";
  return crop;
}

static data::Preparations preparations(const nlohmann::json &recipe, Use use) {
  data::Preparations result;
  nlohmann::json normalize = inputsOf(recipe, "normalize"),
                 augment = inputsOf(recipe, "augment");
  for (const auto &[name, numbers] : normalize.items()) {
    result[name].mean = numbers.value("mean", std::vector<float>{0});
    result[name].std = numbers.value("std", std::vector<float>{1});
  }
  if (use != Use::training)
    return result;
  for (const auto &[name, draws] : augment.items()) {
    result[name].resizedCrop =
        resizedCrop(draws.value("resized_crop", nlohmann::json()));
    result[name].crop = draws.value("crop", int64_t(0));
    result[name].flip = draws.value("flip", false);
  }
  return result;
}

/// A misspelt name would silently change nothing.
static Status checkNames(const ArtifactOutline &artifact,
                         const GraphOutline &graph,
                         const data::Preparations &preparations) {
  for (const auto &[name, unused] : preparations) {
    std::string inputs;
    bool known = false;
    for (const TensorInfo &input : graph.inputs) {
      known |= input.name == name;
      inputs += (inputs.empty() ? "" : ", ") + input.name;
    }
    if (!known)
      return invalid(
          artifact.path,
          ": the recipe's inputs.normalize or inputs.augment names '", name,
          "', but graph '", graph.name, "' has the inputs ", inputs);
  }
  return {};
}

static StatusOr<data::Feed> matched(const ArtifactOutline &artifact,
                                    const GraphOutline &graph,
                                    const data::Dataset &dataset, Use use,
                                    bool prepares) {
  data::Preparations prepared;
  if (prepares)
    prepared = preparations(artifact.recipe, use);
  GRADUS_TRY(checkNames(artifact, graph, prepared));
  data::LabelRules labels =
      use == Use::prediction ? data::LabelRules() : labelRules(artifact);
  auto feed = data::Feed::match(dataset, graph.inputs, labels, prepared);
  GRADUS_TRY(feed.status());
  auto inputs = artifact.recipe.value("inputs", nlohmann::json::object());
  if (use == Use::training && inputs.value("last_batch", "drop") == "mask")
    GRADUS_TRY(feed->maskLastBatch());
  return feed;
}

StatusOr<data::Feed> feedOf(const ArtifactOutline &artifact,
                            const GraphOutline &graph,
                            const data::Dataset &dataset, Use use,
                            bool prepares) {
  try {
    return matched(artifact, graph, dataset, use, prepares);
  } catch (const nlohmann::json::exception &) {
    return invalid(artifact.path,
                   ": its recipe says of `inputs` or `loss` what no compiler "
                   "writes there");
  }
}

StatusOr<data::Feed> feedOf(const Session &session, int graph,
                            const data::Dataset &dataset, Use use) {
  ArtifactOutline artifact = outlineOf(session);
  return feedOf(artifact, artifact.graphs[graph], dataset, use);
}

StatusOr<TrainingFeeds> feedsOf(const Session &session,
                                const data::Dataset &training,
                                const data::Dataset &test) {
  TrainingFeeds feeds;
  int train = -1, evaluate = -1;
  GRADUS_ASSIGN(train, graphOf(session, well_known::kTrain));
  GRADUS_ASSIGN(evaluate, graphOf(session, well_known::kEvaluate));
  GRADUS_ASSIGN(feeds.train, feedOf(session, train, training, Use::training));
  GRADUS_ASSIGN(feeds.test, feedOf(session, evaluate, test, Use::evaluation));
  return feeds;
}

Status TrainingFeeds::split(const std::string &source, double validation,
                            uint64_t seed) {
  int64_t all = train.samples();
  if (all < 2)
    return invalid(source, ": has 1 sample, and a part for tests needs 2 or "
                           "more");
  int64_t kept = std::clamp<int64_t>(
      std::llround(static_cast<double>(all) * validation), 1, all - 1);
  test = test->part(seed, 0, kept);
  train = train.part(seed, kept, all - kept);
  return {};
}

} // namespace gradus::training
