// Loss and metrics of a whole data set, computed by an artifact's graph
// `evaluate`.

#pragma once

#include "runtime/session/session.h"
#include "tool/failure.h"
#include "training/data/batches.h"

#include <functional>
#include <string>
#include <vector>

namespace gradus::cli {

struct Metric {
  std::string name;
  double value = 0;
};

/// Data that can no longer be read: a file that was cut short, an image that
/// was removed. The steps before were right.
struct Unreadable : Failure {
  explicit Unreadable(const runtime::Status &status)
      : Failure(failureOf(status)) {}
};

/// The number of samples that evaluation uses: all, or those that fill a batch
/// if the graph cannot ignore padding.
int64_t evaluatedSamples(const data::Feed &feed);

/// Throws a Failure if there are no such samples, or none of their labels
/// counts; `source` names the data.
void verifyEvaluates(const data::Feed &feed, const std::string &source);

/// Called after each batch with the graph's inputs and the real samples.
using AfterBatch =
    std::function<void(std::span<const void *const> inputs, int64_t count)>;

/// Runs those samples once, prepared by `dataThreads`. Metrics are weighted
/// means: of the labels that are not ignored, with their weights for the loss,
/// or of the samples if labels cannot be ignored. Throws Unreadable. The
/// graph's scalars are such means over the `count` real samples of a batch. A
/// loss that is a sum is one over all samples.
std::vector<Metric> evaluate(runtime::Session &session, int graph,
                             const data::Feed &feed, int dataThreads,
                             const AfterBatch &after = {});

/// Whether a metric is a current value (learning_rate, loss_scale,
/// skipped_steps) rather than a result of one step.
bool isStanding(const std::string &metric);

/// Metrics in words: "loss 0.1234  accuracy 0.9722", each name after `prefix`.
std::string metricsText(const std::vector<Metric> &metrics,
                        const std::string &prefix = "");

} // namespace gradus::cli
