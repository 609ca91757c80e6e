// Batches of a data set, made ahead of time by threads of their own.
//
// Training shuffles and drops the samples of an epoch that do not fill a batch
// (different samples in each epoch), or fills that batch up with samples whose
// labels are ignored (Feed::maskLastBatch); evaluation uses every sample in
// order, and the last batch is padded with zeros.
//
// Order, bits and errors do not depend on the number of threads.

#pragma once

#include "training/data/feed.h"

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
  int threads = 1; // that prepare samples; one is enough where none is scaled
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

  /// The feed and its data set must outlive this. Holds three chunks, and as
  /// many more as it takes for each thread to have a sample.
  Batches(const Feed &feed, const BatchOptions &options);
  ~Batches();
  Batches(const Batches &) = delete;

  /// The next chunk, valid until the next call; null after the last chunk and
  /// after an error.
  const Chunk *next();
  /// The error after which next() returned null, of the first sample that has
  /// one; ok after the last chunk.
  const runtime::Status &status() const { return status_; }
  /// The number of threads that prepare samples.
  size_t threads() const { return threads_.size(); }

private:
  struct Slot {
    std::vector<uint8_t> memory;
    std::vector<void *> inputs;
    Chunk chunk;
    int64_t samples = 0; // places in its batches
    int64_t given = 0;   // of them, to threads
    int64_t done = 0;
  };

  /// Successive samples that one thread copies.
  struct Share {
    Slot *slot;
    int64_t begin, end; // places in the chunk
  };

  /// An error, and the number of the sample from the first batch on.
  struct Failure {
    int64_t sample;
    runtime::Status status;
  };

  void layOut(Slot &slot);
  void startThreads(int64_t count);
  void work();
  bool hasShare();
  Share takeShare();
  void settle(const Share &share, const runtime::Status &status);
  bool isEnd() const;
  void begin(Slot &slot);
  runtime::Status copyOrSay(const Share &share) const;
  runtime::Status copy(const Share &share) const;
  runtime::Status copySample(int64_t batch, int64_t place,
                             void *const *inputs) const;
  int64_t realSamples(int64_t batch) const;
  void finish(const Slot &slot) const;

  const Feed &feed_;
  const BatchOptions options_;
  const int64_t perEpoch_;
  int64_t perChunk_ = 1; // batches, at most
  int64_t perShare_ = 1; // samples
  std::vector<Slot> slots_;
  std::vector<std::thread> threads_;
  runtime::Status status_; // written by next() alone

  std::mutex mutex_; // of all that follows, and of the slots' numbers
  std::condition_variable ready_, room_;
  int64_t position_;               // next batch to begin
  int64_t begun_ = 0;              // chunks
  int64_t taken_ = 0;              // calls of next()
  int64_t copying_ = 0;            // shares
  std::optional<Failure> failure_; // of the first sample that has one
  bool stop_ = false;
};

} // namespace gradus::data
