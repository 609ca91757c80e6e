// The samples of a data set that a test counts, and its figures of those of the
// batches.

#pragma once

#include "training/data/feed.h"
#include "training/metric.h"

#include <span>
#include <string>
#include <vector>

namespace gradus::training {

/// The number of samples that evaluation uses: all, or those that fill a batch
/// if the graph cannot ignore padding.
int64_t evaluatedSamples(const data::Feed &feed);

/// Fails if there are no such samples, or none of their labels counts; `source`
/// names the data.
runtime::Status verifyEvaluates(const data::Feed &feed,
                                const std::string &source);

/// The part that a batch has among all: the number of its labels that are not
/// ignored, and the sum of their weights; or the number of its samples if
/// labels cannot be ignored.
struct BatchShare {
  double labels = 0, weight = 0;
};

/// The share of `count` samples from `first` on. Fails if a file was cut short.
runtime::StatusOr<BatchShare> shareOf(const data::Feed &feed, int64_t first,
                                      int64_t count);

/// The means of a graph's scalars over batches, added in their order: of the
/// loss by the weight of each, of others by its labels. A loss that is a sum is
/// one over all samples.
class TestMeans {
public:
  TestMeans(const std::vector<std::string> &names, bool lossIsTotal);

  /// Adds a batch, which has a value for each name.
  void add(std::span<const double> values, const BatchShare &share);
  /// The sum of the shares so far.
  const BatchShare &share() const { return all_; }
  std::vector<Metric> figures() const;

private:
  std::vector<Metric> sums_;
  bool lossIsTotal_;
  BatchShare all_;
};

} // namespace gradus::training
