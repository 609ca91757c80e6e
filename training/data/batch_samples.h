// Says which samples of an epoch are in which batch, and fills batches.
#pragma once

#include "training/data/feed.h"

namespace gradus::data {

/// Training shuffles, and drops the samples of an epoch that do not fill a
/// batch or fills that batch up with samples whose labels are ignored
/// (Feed::maskLastBatch); evaluation uses every sample in order, and the last
/// batch is padded with zeros. Batches are counted from epoch 0 on.
class BatchSamples {
public:
  /// The feed must outlive this.
  BatchSamples(const Feed &feed, bool shuffle, uint64_t seed)
      : feed_(feed), shuffles_(shuffle), seed_(seed),
        perEpoch_(perEpoch(feed, shuffle)) {}

  /// The number of batches in an epoch.
  static int64_t perEpoch(const Feed &feed, bool shuffle);
  int64_t perEpoch() const { return perEpoch_; }
  const Feed &feed() const { return feed_; }

  /// The number of samples in a batch that fill no place of others.
  int64_t real(int64_t batch) const;
  /// Copies the sample at index `place` of a batch, whose inputs are at
  /// `inputs`.
  runtime::Status copy(int64_t batch, int64_t place, void *const *inputs) const;
  /// Ends a batch whose samples are copied.
  void finish(int64_t batch, void *const *inputs) const;

private:
  const Feed &feed_;
  bool shuffles_;
  uint64_t seed_;
  int64_t perEpoch_;
};

} // namespace gradus::data
