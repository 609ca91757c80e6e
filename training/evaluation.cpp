// Passes over a data set once, batch by batch, with the last one padded.

#include "training/evaluation.h"

#include "training/artifact_recipe.h"
#include "training/dealt.h"
#include "training/scalar_outputs.h"

#include <algorithm>

using namespace gradus::runtime;

namespace gradus::training {

namespace {

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

/// The means of all batches of a feed.
StatusOr<std::vector<Metric>> meansOf(const Session &session,
                                      const data::Feed &feed,
                                      const BatchValues &values,
                                      const std::vector<Metric> &metrics) {
  std::vector<std::string> names;
  for (const Metric &metric : metrics)
    names.push_back(metric.name);
  TestMeans means(names, lossIsTotal(session));
  int64_t samples = evaluatedSamples(feed);
  for (size_t at = 0; at + names.size() <= values.size() && !names.empty();
       at += names.size()) {
    int64_t first = static_cast<int64_t>(at / names.size()) * feed.batch();
    BatchShare share;
    GRADUS_ASSIGN(
        share, shareOf(feed, first, std::min(feed.batch(), samples - first)));
    means.add(std::span(values).subspan(at, names.size()), share);
  }
  return means.figures();
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
  return meansOf(session, feed, values, metrics);
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
