// Where a trainer gets its batches: from a feed of a data set, or from a
// caller's iterator.

#pragma once

#include "training/data/batches.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace gradus::training {

class BatchSource {
public:
  virtual ~BatchSource() = default;

  /// The number of batches of an epoch, 1 or more: as many as steps, of which
  /// each has the inputs of all turns of a session (Session::turns).
  virtual int64_t perEpoch() const = 0;
  /// Begins with batch `first`, counted from the first step of training, and
  /// ends before batch `end`: a resumed run begins where the former ended.
  virtual runtime::Status begin(int64_t first, int64_t end) = 0;
  /// The next batches, all of one epoch, valid until the next call; null after
  /// the last.
  virtual runtime::StatusOr<const data::Chunk *> next() = 0;
  /// Ends what begin() has begun.
  virtual void end() {}
};

/// The samples of a feed in the order of `seed`, new in each epoch, made ahead
/// of time by threads.
class FeedBatches : public BatchSource {
public:
  /// Called with what the caller of next() does: "waits for its data" while it
  /// is in there, then "computes".
  using Doing = std::function<void(const char *what)>;

  /// The feed must outlive this.
  FeedBatches(const data::Feed &feed, uint64_t seed, int threads = 1,
              data::Deal deal = {}, Doing doing = {})
      : feed_(feed), seed_(seed), threads_(threads), deal_(deal),
        doing_(std::move(doing)) {}

  int64_t perEpoch() const override;
  runtime::Status begin(int64_t first, int64_t end) override;
  runtime::StatusOr<const data::Chunk *> next() override;
  void end() override { batches_.reset(); }

private:
  const data::Feed &feed_;
  uint64_t seed_;
  int threads_;
  data::Deal deal_;
  Doing doing_;
  std::unique_ptr<data::Batches> batches_;
};

/// Puts the addresses of the inputs of batch `number`, in the graph's order, in
/// `inputs`, those of the first turn first: they are valid until the next call.
/// Returns false if there is no such batch.
using NextBatch = std::function<runtime::StatusOr<bool>(
    int64_t number, std::vector<const void *> &inputs)>;

/// The batches of a caller, one after the other.
class CallerBatches : public BatchSource {
public:
  /// An epoch has `perEpoch` batches, 1 or more, of `inputs` tensors each: as
  /// many as the graph has in each of the session's turns.
  CallerBatches(int64_t perEpoch, size_t inputs, NextBatch next)
      : perEpoch_(perEpoch), inputs_(inputs), next_(std::move(next)) {}

  int64_t perEpoch() const override { return perEpoch_; }
  runtime::Status begin(int64_t first, int64_t end) override;
  runtime::StatusOr<const data::Chunk *> next() override;

private:
  int64_t perEpoch_;
  std::vector<const void *> inputs_;
  NextBatch next_;
  int64_t position_ = 0, end_ = 0;
  data::Chunk chunk_;
};

} // namespace gradus::training
