// Says which samples of an epoch are in which batch, and fills batches.
#pragma once

#include "training/data/feed.h"

namespace gradus::data {

/// The place of those who share the batches of a data set: each batch of all
/// has one of `ranks` ones after the other. Who computes several of them in
/// turn has `turns` of these, from that of `rank` on.
struct Deal {
  int64_t rank = 0, ranks = 1, turns = 1;
};

/// Training shuffles, and drops the samples of an epoch that do not fill a
/// batch or fills that batch up with samples whose labels are ignored
/// (Feed::maskLastBatch); evaluation uses every sample in order, and the last
/// batch is padded with zeros. Without `shuffle` a feed that masks its last
/// batch fills it up as training does, in order. Batches are counted from epoch
/// 0 on: batch k of all is the own batches k * turns up to (k + 1) * turns.
class BatchSamples {
public:
  /// The feed must outlive this.
  BatchSamples(const Feed &feed, bool shuffle, uint64_t seed, Deal deal = {})
      : feed_(feed), shuffles_(shuffle), seed_(seed), deal_(deal),
        perEpoch_(perEpoch(feed, shuffle, deal)) {}

  /// The number of batches of all in an epoch.
  static int64_t perEpoch(const Feed &feed, bool shuffle, Deal deal = {});
  int64_t perEpoch() const { return perEpoch_; }
  int64_t turns() const { return deal_.turns; }
  const Feed &feed() const { return feed_; }

  /// The number of samples in an own batch that fill no place of others; the
  /// last batches of later ranks may have none.
  int64_t real(int64_t batch) const;
  /// Copies the sample at index `place` of an own batch, whose inputs are at
  /// `inputs`.
  runtime::Status copy(int64_t batch, int64_t place, void *const *inputs) const;
  /// Ends an own batch whose samples are copied.
  void finish(int64_t batch, void *const *inputs) const;

private:
  /// The batch of all that an own batch is of.
  int64_t whole(int64_t batch) const { return batch / deal_.turns; }
  /// Whether no batch of this is padded with zeros, as those of tests are.
  bool trains() const { return shuffles_ || feed_.masksLastBatch(); }
  /// The position of an own batch's first sample in its epoch.
  int64_t start(int64_t batch) const;

  const Feed &feed_;
  bool shuffles_;
  uint64_t seed_;
  Deal deal_;
  int64_t perEpoch_;
};

} // namespace gradus::data
