// Batches of a data set, made ahead of time by threads of their own.
//
// Order, bits and errors do not depend on the number of threads.

#pragma once

#include "training/data/batch_samples.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <span>
#include <thread>

namespace gradus::data {

struct BatchOptions {
  bool shuffle = false; // for training: see BatchSamples
  uint64_t seed = 0;
  Deal deal = {};
  int64_t first = 0; // number of the first batch of all, from epoch 0 on
  int64_t end = 0;   // number after that of the last batch of all
  size_t chunkBytes = 1 << 18; // size of a chunk of at least one batch
  int threads = 1; // that prepare samples; one is enough where none is scaled
};

/// Successive batches of one epoch: the own ones of each batch of all, as many
/// as Deal::turns.
struct Chunk {
  int64_t first = 0;                   // number of its first batch of all
  int64_t count = 0;                   // batches of all
  std::span<const void *const> inputs; // of the first own one, of the next, ...
  int64_t lastCount = 0;               // real samples of its last own batch
};

class Batches {
public:
  /// The number of batches in an epoch.
  static int64_t perEpoch(const Feed &feed, bool shuffle, Deal deal = {}) {
    return BatchSamples::perEpoch(feed, shuffle, deal);
  }

  /// The feed and its data set must outlive this. Holds three chunks, and as
  /// many more as it takes for each thread to have a sample.
  Batches(const Feed &feed, const BatchOptions &options);
  ~Batches();
  Batches(const Batches &) = delete;

  /// The next chunk, valid until the next call; null after the last chunk and
  /// after an error.
  const Chunk *next();
  /// Ends the threads. What the last chunk shows stays in memory as long as
  /// this, and there is no next one.
  void end();
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

  /// The slots one after the other, again and again: the caller has one, and
  /// threads fill those after it.
  struct Ring {
    std::vector<Slot> slots;
    int64_t begun = 0; // chunks
    int64_t taken = 0; // calls of next()

    Slot &at(int64_t chunk) { return slots[chunk % slots.size()]; }
    Slot &lastBegun() { return at(begun - 1); }
    Slot &lastTaken() { return at(taken - 1); }
    bool hasRoom() const {
      return begun - std::max<int64_t>(taken, 1) + 1 < std::ssize(slots);
    }
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
  void finish(const Slot &slot) const;

  const BatchSamples samples_;
  const BatchOptions options_;
  int64_t perChunk_ = 1; // batches of all, at most
  int64_t perShare_ = 1; // samples
  std::vector<std::thread> threads_;
  runtime::Status status_; // written by next() alone

  std::mutex mutex_; // of all that follows, but what is in the slots' memory
  std::condition_variable ready_, room_;
  Ring ring_;
  int64_t position_;               // next batch of all to begin
  int64_t copying_ = 0;            // shares
  std::optional<Failure> failure_; // of the first sample that has one
  bool stop_ = false;
};

} // namespace gradus::data
