// One pass over a data set, batch by batch, the last one padded.

#include "frontends/cli/evaluation.h"

#include "frontends/cli/failure.h"
#include "frontends/cli/scalar_outputs.h"
#include "frontends/cli/text.h"

#include <algorithm>

using namespace gradus::runtime;

namespace gradus::cli {

std::vector<Metric> evaluate(Session &session, int graph,
                             const data::Feed &feed) {
  data::Batches batches(feed, {.end = data::Batches::perEpoch(feed, false)});
  size_t inputs = feed.inputCount();
  ScalarOutputs scalars(session.graphs()[graph], 1);
  std::vector<Metric> metrics;
  for (const std::string &name : scalars.names())
    metrics.push_back({name, 0});
  double total = feed.countedLabels(0, feed.samples());
  while (const data::Chunk *chunk = batches.next())
    for (int64_t i = 0; i < chunk->count; ++i) {
      check(session.step(graph, chunk->inputs.subspan(i * inputs, inputs),
                         scalars.places(1)));
      int64_t first = (chunk->first + i) * feed.batch();
      double counted = feed.countedLabels(
          first, std::min(feed.batch(), feed.samples() - first));
      if (counted == 0) // a mean over nothing, which is no number
        continue;
      for (size_t m = 0; m < metrics.size(); ++m)
        metrics[m].value += scalars.value(0, m) * counted / total;
    }
  return metrics;
}

std::string metricsText(const std::vector<Metric> &metrics,
                        const std::string &prefix) {
  std::string text;
  for (const Metric &metric : metrics)
    text += (text.empty() ? "" : "  ") + prefix + metric.name + " " +
            number("%.4f", metric.value);
  return text;
}

} // namespace gradus::cli
