// Passes over a data set once, batch by batch, with the last one padded.

#include "training/evaluation.h"

#include "runtime/well_known.h"
#include "training/artifact_recipe.h"
#include "training/dealt.h"
#include "training/scalar_outputs.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

#include <algorithm>
#include <cmath>

using namespace gradus::runtime;

namespace gradus::training {

int64_t evaluatedSamples(const data::Feed &feed) {
  if (feed.tellsCount())
    return feed.samples();
  return feed.samples() / feed.batch() * feed.batch();
}

Status verifyEvaluates(const data::Feed &feed, const std::string &source) {
  int64_t samples = evaluatedSamples(feed);
  if (samples == 0)
    return invalid(source, ": ", feed.samples(),
                   " samples do not fill a batch of ", feed.batch(),
                   ", and the loss cannot leave padding out");
  double weight = 0;
  GRADUS_ASSIGN(weight, feed.labelWeight(0, samples));
  if (weight == 0)
    return invalid(source, ": no label of the ", samples,
                   " samples to evaluate counts for the loss");
  return {};
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
  static StatusOr<Means> create(const Session &session,
                                const data::Feed &feed) {
    Means means(feed, lossIsTotal(session));
    int64_t samples = evaluatedSamples(feed);
    GRADUS_ASSIGN(means.weight_, feed.labelWeight(0, samples));
    GRADUS_ASSIGN(means.labels_, feed.countedLabels(0, samples));
    return means;
  }

  /// Adds a batch's value; a batch of weight 0 has no value.
  Status add(Metric &sum, double value, int64_t first, int64_t count) const {
    double share = 1;
    if (sum.name != well_known::kLoss) {
      GRADUS_ASSIGN(share, feed_->countedLabels(first, count));
    } else if (!adds_) {
      GRADUS_ASSIGN(share, feed_->labelWeight(first, count));
    }
    if (share != 0)
      sum.value += wholeIf(isPartOfLabels(sum.name), value * share);
    return {};
  }

  double mean(const Metric &sum) const {
    if (sum.name != well_known::kLoss)
      return sum.value / labels_;
    return adds_ ? sum.value : sum.value / weight_;
  }

private:
  Means(const data::Feed &feed, bool adds) : feed_(&feed), adds_(adds) {}

  /// The number of labels behind an f32 fraction: sums of these are exact, so
  /// equal counts are equal metrics.
  static double wholeIf(bool isCount, double value) {
    double whole = std::round(value);
    double slack = std::max(1e-3, std::abs(value) * 1e-6);
    return isCount && std::abs(value - whole) < slack ? whole : value;
  }

  const data::Feed *feed_;
  bool adds_;
  double weight_ = 0, labels_ = 0;
};

/// The scalars of a graph, of each batch in turn.
using BatchValues = std::vector<double>;

/// Runs a rank's batches; what fails is of the data but for `*other`, which is
/// of the session or of `after`.
StatusOr<BatchValues> valuesOf(Session &session, int graph,
                               const data::Feed &feed, data::Deal deal,
                               int dataThreads, const AfterBatch &after,
                               Status *other) {
  int64_t samples = evaluatedSamples(feed);
  int64_t all = data::Batches::perEpoch(feed, !feed.tellsCount());
  data::Batches batches(feed,
                        {.deal = deal,
                         .end = (all - deal.rank + deal.ranks - 1) / deal.ranks,
                         .threads = dataThreads});
  size_t inputs = feed.inputCount();
  ScalarOutputs scalars(session.graphs()[graph], 1);
  BatchValues values;
  while (const data::Chunk *chunk = batches.next())
    for (int64_t i = 0; i < chunk->count; ++i) {
      auto batch = chunk->inputs.subspan(i * inputs, inputs);
      *other = session.step(graph, batch, scalars.places(1));
      GRADUS_TRY(*other);
      for (size_t m = 0; m < scalars.names().size(); ++m)
        values.push_back(scalars.value(0, m));
      int64_t number = (chunk->first + i) * deal.ranks + deal.rank;
      int64_t count = std::min(feed.batch(), samples - number * feed.batch());
      *other = after ? after(batch, count) : Status();
      GRADUS_TRY(*other);
    }
  GRADUS_TRY(batches.status());
  return values;
}

/// The means of all batches, added in their order.
StatusOr<std::vector<Metric>> meansOf(const Session &session,
                                      const data::Feed &feed,
                                      const BatchValues &values,
                                      std::vector<Metric> metrics) {
  int64_t samples = evaluatedSamples(feed);
  auto means = Means::create(session, feed);
  GRADUS_TRY(means.status());
  int64_t batches = values.size() / std::max<size_t>(1, metrics.size());
  for (int64_t batch = 0; batch < batches; ++batch) {
    int64_t first = batch * feed.batch();
    int64_t count = std::min(feed.batch(), samples - first);
    for (size_t m = 0; m < metrics.size(); ++m)
      GRADUS_TRY(means->add(metrics[m], values[batch * metrics.size() + m],
                            first, count));
  }
  for (Metric &metric : metrics)
    metric.value = means->mean(metric);
  return metrics;
}

/// Rank 0 computes the means of the values of all and tells them. `*unread`
/// says that it cannot read the labels.
StatusOr<std::vector<Metric>>
sharedMeans(const Session &session, const data::Feed &feed,
            const BatchValues &own, std::vector<Metric> metrics,
            CommunicationThread &ranks, Status *unread) {
  GRADUS_ASSIGN(BatchValues all, dealtBack(ranks, own, metrics.size()));
  BatchValues values(metrics.size());
  if (ranks.rank() == 0) {
    auto means = meansOf(session, feed, all, metrics);
    *unread = means.status();
    for (size_t m = 0; means.ok() && m < metrics.size(); ++m)
      values[m] = (*means)[m].value;
  }
  GRADUS_TRY(settle(ranks, *unread));
  GRADUS_TRY(takeFromFirst(ranks, values));
  for (size_t m = 0; m < metrics.size(); ++m)
    metrics[m].value = values[m];
  return metrics;
}

/// Runs the batches of a rank among all, whose failures to read data it shares:
/// they are `*unread`.
StatusOr<BatchValues> valuesOfRank(Session &session, int graph,
                                   const data::Feed &feed, int dataThreads,
                                   const AfterBatch &after,
                                   CommunicationThread &ranks, Status *unread) {
  Status other;
  *unread = verifyEvaluates(feed, feed.source());
  BatchValues values;
  if (unread->ok()) {
    auto own = valuesOf(session, graph, feed, {ranks.rank(), ranks.ranks()},
                        dataThreads, after, &other);
    GRADUS_TRY(other);
    *unread = own.status();
    if (own.ok())
      values = *std::move(own);
  }
  GRADUS_TRY(settle(ranks, *unread));
  return values;
}

/// Computes the metrics on ranks, of which all return the same.
StatusOr<std::vector<Metric>>
metricsOnRanks(Session &session, int graph, const data::Feed &feed,
               int dataThreads, const AfterBatch &after,
               std::vector<Metric> metrics, CommunicationThread &ranks,
               Status *other) {
  Status unread;
  auto values =
      valuesOfRank(session, graph, feed, dataThreads, after, ranks, &unread);
  *other = values.status();
  GRADUS_TRY(*other);
  GRADUS_TRY(unread);
  auto means =
      sharedMeans(session, feed, *values, std::move(metrics), ranks, &unread);
  *other = means.status();
  GRADUS_TRY(unread);
  return means;
}

StatusOr<std::vector<Metric>>
metricsOf(Session &session, int graph, const data::Feed &feed, int dataThreads,
          const AfterBatch &after, CommunicationThread *ranks, Status *other) {
  std::vector<Metric> metrics;
  ScalarOutputs scalars(session.graphs()[graph], 1);
  for (const std::string &name : scalars.names())
    metrics.push_back({name, 0});
  if (ranks)
    return metricsOnRanks(session, graph, feed, dataThreads, after,
                          std::move(metrics), *ranks, other);
  GRADUS_TRY(verifyEvaluates(feed, feed.source()));
  GRADUS_ASSIGN(BatchValues values,
                valuesOf(session, graph, feed, {}, dataThreads, after, other));
  return meansOf(session, feed, values, std::move(metrics));
}
} // namespace

StatusOr<std::vector<Metric>> evaluate(Session &session, int graph,
                                       const data::Feed &feed, int dataThreads,
                                       const AfterBatch &after,
                                       bool *unreadable,
                                       CommunicationThread *ranks) {
  Status other;
  auto metrics =
      metricsOf(session, graph, feed, dataThreads, after, ranks, &other);
  if (unreadable)
    *unreadable = !metrics.ok() && other.ok();
  return metrics;
}

} // namespace gradus::training
