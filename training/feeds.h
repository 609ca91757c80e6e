// Feeds of an artifact's graphs: data prepared as the recipe's `inputs` say.

#pragma once

#include "runtime/session/session.h"
#include "training/artifact_outline.h"
#include "training/data/feed.h"

#include <nlohmann/json.hpp>

#include <optional>

namespace gradus::training {

/// The purpose of a graph's run; only training augments.
enum class Use { training, evaluation, prediction };

/// The recipe's `inputs.normalize`, by the name of the input.
nlohmann::json normalizationOf(const runtime::Session &session);

/// Fills the inputs of a graph as the labels and the recipe's `inputs` say. The
/// data set must outlive the feed.
runtime::StatusOr<data::Feed> feedOf(const runtime::Session &session, int graph,
                                     const data::Dataset &dataset, Use use);
/// The same for a graph of the artifact. Without `prepares` data are copied as
/// they are: who has them in memory has normalized them.
runtime::StatusOr<data::Feed> feedOf(const ArtifactOutline &artifact,
                                     const GraphOutline &graph,
                                     const data::Dataset &dataset, Use use,
                                     bool prepares = true);

/// The data to train on, and the data to test on if there is any.
struct TrainingFeeds {
  data::Feed train;
  std::optional<data::Feed> test;

  /// Tests on the part `validation` of the training data, chosen by `seed`, and
  /// trains on the others: at least one sample on each side. `test` is a feed
  /// of the same data; `source` names it in errors.
  runtime::Status split(const std::string &source, double validation,
                        uint64_t seed);
};

/// The feeds of the graphs `train` and `evaluate`. Both sets must outlive them.
runtime::StatusOr<TrainingFeeds> feedsOf(const runtime::Session &session,
                                         const data::Dataset &training,
                                         const data::Dataset &test);

} // namespace gradus::training
