// Results have four digits behind the point; current values, such as a learning
// rate, as many as they need.

#include "tool/evaluate/metrics_text.h"

#include "tool/text.h"

namespace gradus::cli {

std::string metricsText(const std::vector<Metric> &metrics,
                        const std::string &prefix) {
  std::string text;
  for (const Metric &metric : metrics)
    text +=
        (text.empty() ? "" : "  ") + prefix + metric.name + " " +
        number(training::isStanding(metric.name) ? "%g" : "%.4f", metric.value);
  return text;
}

} // namespace gradus::cli
