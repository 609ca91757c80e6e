// Passes over a data set once, batch by batch, with the last one padded.

#include "tool/evaluate/evaluation.h"

#include "runtime/well_known.h"
#include "tool/session/scalar_outputs.h"
#include "tool/session/session_options.h"
#include "tool/text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>

using namespace gradus::runtime;

namespace gradus::cli {

/// Returns the value, or throws Unreadable.
template <typename T> static T readFrom(runtime::StatusOr<T> value) {
  if (!value.ok())
    throw Unreadable(value.status());
  return *std::move(value);
}

int64_t evaluatedSamples(const data::Feed &feed) {
  if (feed.tellsCount())
    return feed.samples();
  return feed.samples() / feed.batch() * feed.batch();
}

void verifyEvaluates(const data::Feed &feed, const std::string &source) {
  int64_t samples = evaluatedSamples(feed);
  if (samples == 0)
    throw badInput(source, ": ", feed.samples(),
                   " samples do not fill a batch of ", feed.batch(),
                   ", and the loss cannot leave padding out");
  if (readFrom(feed.labelWeight(0, samples)) == 0)
    throw badInput(source, ": no label of the ", samples,
                   " samples to evaluate counts for the loss");
}

namespace {
/// Whether a scalar is a fraction of all labels.
bool isPartOfLabels(const std::string &scalar) {
  for (const char *known : {"accuracy", "top5"})
    if (scalar == known || absl::EndsWith(scalar, absl::StrCat("_", known)))
      return true;
  return false;
}

/// Sums a scalar over batches, weighted by the labels or samples of each, and
/// computes the mean.
class Means {
public:
  Means(const Session &session, const data::Feed &feed)
      : feed_(feed), adds_(lossIsTotal(session)),
        weight_(readFrom(feed.labelWeight(0, evaluatedSamples(feed)))),
        labels_(readFrom(feed.countedLabels(0, evaluatedSamples(feed)))) {}

  /// Adds a batch's value; a batch of weight 0 has no value.
  void add(Metric &sum, double value, int64_t first, int64_t count) const {
    bool isLoss = sum.name == well_known::kLoss;
    double share = !isLoss ? readFrom(feed_.countedLabels(first, count))
                   : adds_ ? 1
                           : readFrom(feed_.labelWeight(first, count));
    if (share != 0)
      sum.value += wholeIf(isPartOfLabels(sum.name), value * share);
  }

  double mean(const Metric &sum) const {
    if (sum.name != well_known::kLoss)
      return sum.value / labels_;
    return adds_ ? sum.value : sum.value / weight_;
  }

private:
  /// The number of labels behind an f32 fraction: sums of these are exact, so
  /// equal counts are equal metrics.
  static double wholeIf(bool isCount, double value) {
    double whole = std::round(value);
    double slack = std::max(1e-3, std::abs(value) * 1e-6);
    return isCount && std::abs(value - whole) < slack ? whole : value;
  }

  const data::Feed &feed_;
  bool adds_;
  double weight_, labels_;
};
} // namespace

std::vector<Metric> evaluate(Session &session, int graph,
                             const data::Feed &feed, int dataThreads,
                             const AfterBatch &after) {
  int64_t samples = evaluatedSamples(feed);
  verifyEvaluates(feed, feed.source());
  data::Batches batches(
      feed, {.end = data::Batches::perEpoch(feed, !feed.tellsCount()),
             .threads = dataThreads});
  size_t inputs = feed.inputCount();
  ScalarOutputs scalars(session.graphs()[graph], 1);
  Means means(session, feed);
  std::vector<Metric> metrics;
  for (const std::string &name : scalars.names())
    metrics.push_back({name, 0});
  while (const data::Chunk *chunk = batches.next())
    for (int64_t i = 0; i < chunk->count; ++i) {
      check(session.step(graph, chunk->inputs.subspan(i * inputs, inputs),
                         scalars.places(1)));
      int64_t first = (chunk->first + i) * feed.batch();
      int64_t count = std::min(feed.batch(), samples - first);
      for (size_t m = 0; m < metrics.size(); ++m)
        means.add(metrics[m], scalars.value(0, m), first, count);
      if (after)
        after(chunk->inputs.subspan(i * inputs, inputs), count);
    }
  if (!batches.status().ok())
    throw Unreadable(batches.status());
  for (Metric &metric : metrics)
    metric.value = means.mean(metric);
  return metrics;
}

bool isStanding(const std::string &metric) {
  return metric == "learning_rate" || metric == well_known::kLossScale ||
         metric == well_known::kSkippedSteps;
}

std::string metricsText(const std::vector<Metric> &metrics,
                        const std::string &prefix) {
  std::string text;
  for (const Metric &metric : metrics)
    text += (text.empty() ? "" : "  ") + prefix + metric.name + " " +
            number(isStanding(metric.name) ? "%g" : "%.4f", metric.value);
  return text;
}

} // namespace gradus::cli
