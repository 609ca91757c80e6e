// The threads of a session. One pool serves our kernels and the library.
//
// Work is a number of fixed blocks. Each thread begins with its own stretch of
// them, so that it walks through memory of its own and finds what it touched in
// the command before in its cache, and then takes blocks from the ends of the
// others' stretches: a slow core does not hold up a fast one. As blocks never
// depend on who runs them, neither do results. The caller takes part. Idle
// threads spin for about 100 us, so that regions close together cost less than
// 1 us, then sleep.

#pragma once

#include "runtime/origin.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <pthread.h>
#include <vector>

namespace gradus::runtime {

class ThreadPool {
public:
  using Block = void (*)(void *context, int64_t block);

  /// `threads` in all, the caller's among them; at least 1. Fewer where the
  /// system refuses one: see threads() and failure().
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  /// errno of the thread that could not be started; 0: all are there.
  int failure() const { return failure_; }

  /// Runs block(context, i) for each i in [0, count), count < 2^31. One region
  /// at a time: not from two threads at once, nor from inside a block.
  void run(int64_t count, Block block, void *context) {
    start(count, block, context);
    finish();
  }

  /// The two halves of run: between them the caller may do a part of its own.
  void start(int64_t count, Block block, void *context);
  void finish();

private:
  /// Blocks that nobody has taken yet: the first in the upper half, the one
  /// behind the last in the lower. Its thread takes from the front, the others
  /// from the back, each by a compare-and-swap.
  struct alignas(64) Stretch {
    std::atomic<uint64_t> left{0};
    bool take(bool front, int64_t &block);
  };

  /// What a thread is told: whose it is and which.
  struct Worker {
    ThreadPool *pool;
    size_t self;
    pthread_t thread;
  };
  static void *enter(void *worker);
  void work(size_t self);
  /// Runs blocks until none is left; how many it ran.
  int32_t drain(size_t self);
  int32_t drainStretch(size_t of, bool own);
  /// Waits for a region after `seen`; false when the pool ends.
  bool waitForRegion(int32_t &seen);

  std::unique_ptr<Stretch[]>
      stretches_; // one for each thread, the caller's first
  alignas(64) std::atomic<int32_t> unfinished_{0};
  alignas(64) Block block_ = nullptr;
  void *context_ = nullptr;

  alignas(64) std::atomic<int32_t> region_{0}; // counts; futex of the sleepers
  std::atomic<int32_t> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Worker>> workers_;
  Origin origin_; // a child of fork has none of the threads
  int failure_ = 0;
};

/// Cores that this process may run on.
int availableCores();

} // namespace gradus::runtime
