// Batches of a data set, made ahead of time by a thread of their own.
//
// Training shuffles and drops the samples of an epoch that do not fill a batch
// (different samples in each epoch), or fills that batch up with samples whose
// labels are ignored (Feed::maskLastBatch); evaluation uses every sample in
// order, and the last batch is padded with zeros.

#pragma once

#include "frontends/data/feed.h"

#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>

namespace gradus::data {

struct BatchOptions {
  bool shuffle = false; // also drops or masks an incomplete last batch
  uint64_t seed = 0;
  int64_t first = 0; // number of the first batch, counted from epoch 0
  int64_t end = 0;   // number after that of the last batch
  size_t chunkBytes = 1 << 18; // size of a chunk of at least one batch
};

/// Successive batches of one epoch.
struct Chunk {
  int64_t first = 0;                   // number of its first batch
  int64_t count = 0;                   // batches
  std::span<const void *const> inputs; // of the first batch, of the next, ...
  int64_t lastCount = 0;               // real samples of its last batch
};

class Batches {
public:
  /// The number of batches in an epoch.
  static int64_t perEpoch(const Feed &feed, bool shuffle);

  /// The feed and its data set must outlive this.
  Batches(const Feed &feed, const BatchOptions &options);
  ~Batches();
  Batches(const Batches &) = delete;

  /// The next chunk, valid until the next call; null after the last chunk and
  /// after an error.
  const Chunk *next();
  /// The error after which next() returned null; ok after the last chunk.
  const runtime::Status &status() const { return status_; }

private:
  struct Slot {
    std::vector<uint8_t> memory;
    std::vector<void *> inputs;
    Chunk chunk;
  };

  void layOut(Slot &slot);
  void startThread();
  void work();
  runtime::Status fillOrSay(Slot &slot);
  runtime::Status fill(Slot &slot);
  runtime::Status fillBatch(int64_t batch, void *const *inputs, int64_t *count);
  runtime::Status copy(int64_t epoch, int64_t from, int64_t place,
                       void *const *inputs);

  const Feed &feed_;
  const BatchOptions options_;
  const int64_t perEpoch_;
  int64_t perChunk_ = 1;
  int64_t position_; // next batch to make
  Slot slots_[3];
  int64_t made_ = 0, taken_ = 0; // chunks; taken_ counts calls of next()
  bool finished_ = false, stop_ = false;
  runtime::Status status_; // written before finished_
  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
};

} // namespace gradus::data
