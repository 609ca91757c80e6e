// Says which samples of an epoch are in which batch, and fills batches.
#pragma once

#include "training/data/feed.h"

namespace gradus::data {

/// The place of those who share the batches of a data set: each batch of all
/// has one of `ranks` ones after the other.
struct Deal {
  int64_t rank = 0, ranks = 1;
};

/// Training shuffles, and drops the samples of an epoch that do not fill a
/// batch or fills that batch up with samples whose labels are ignored
/// (Feed::maskLastBatch); evaluation uses every sample in order, and the last
/// batch is padded with zeros. Batches are counted from epoch 0 on.
class BatchSamples {
public:
  /// The feed must outlive this.
  BatchSamples(const Feed &feed, bool shuffle, uint64_t seed, Deal deal = {})
      : feed_(feed), shuffles_(shuffle), seed_(seed), deal_(deal),
        perEpoch_(perEpoch(feed, shuffle, deal)) {}

  /// The number of batches in an epoch, which all ranks have.
  static int64_t perEpoch(const Feed &feed, bool shuffle, Deal deal = {});
  int64_t perEpoch() const { return perEpoch_; }
  const Feed &feed() const { return feed_; }

  /// The number of samples in a batch that fill no place of others; the last
  /// batches of later ranks may have none.
  int64_t real(int64_t batch) const;
  /// Copies the sample at index `place` of a batch, whose inputs are at
  /// `inputs`.
  runtime::Status copy(int64_t batch, int64_t place, void *const *inputs) const;
  /// Ends a batch whose samples are copied.
  void finish(int64_t batch, void *const *inputs) const;

private:
  /// The samples of all ranks' batches, and of those before this rank's.
  int64_t together() const { return feed_.batch() * deal_.ranks; }
  int64_t before() const { return feed_.batch() * deal_.rank; }

  const Feed &feed_;
  bool shuffles_;
  uint64_t seed_;
  Deal deal_;
  int64_t perEpoch_;
};

} // namespace gradus::data
