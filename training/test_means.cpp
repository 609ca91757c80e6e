// Weighs the figures of batches by their labels or samples.

#include "training/test_means.h"

#include "runtime/well_known.h"

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

/// Whether a scalar is a fraction of all labels.
static bool isPartOfLabels(const std::string &scalar) {
  for (const char *known : {"accuracy", "top5"})
    if (scalar == known || absl::EndsWith(scalar, absl::StrCat("_", known)))
      return true;
  return false;
}

/// The number of labels behind an f32 fraction: sums of these are exact, so
/// equal counts are equal metrics.
static double wholeIf(bool isCount, double value) {
  double whole = std::round(value);
  double slack = std::max(1e-3, std::abs(value) * 1e-6);
  return isCount && std::abs(value - whole) < slack ? whole : value;
}

StatusOr<BatchShare> shareOf(const data::Feed &feed, int64_t first,
                             int64_t count) {
  BatchShare share;
  GRADUS_ASSIGN(share.labels, feed.countedLabels(first, count));
  GRADUS_ASSIGN(share.weight, feed.labelWeight(first, count));
  return share;
}

TestMeans::TestMeans(const std::vector<std::string> &names, bool lossIsTotal)
    : lossIsTotal_(lossIsTotal) {
  for (const std::string &name : names)
    sums_.push_back({name, 0});
}

void TestMeans::add(std::span<const double> values, const BatchShare &share) {
  all_.labels += share.labels;
  all_.weight += share.weight;
  for (size_t m = 0; m < sums_.size(); ++m) {
    Metric &sum = sums_[m];
    double part = sum.name != well_known::kLoss ? share.labels
                  : lossIsTotal_                ? 1
                                                : share.weight;
    if (part != 0) // else the batch has no value
      sum.value += wholeIf(isPartOfLabels(sum.name), values[m] * part);
  }
}

std::vector<Metric> TestMeans::figures() const {
  std::vector<Metric> means = sums_;
  for (Metric &mean : means)
    if (mean.name != well_known::kLoss)
      mean.value /= all_.labels;
    else if (!lossIsTotal_)
      mean.value /= all_.weight;
  return means;
}

} // namespace gradus::training
