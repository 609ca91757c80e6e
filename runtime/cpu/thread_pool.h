// The threads of a session. One pool serves our kernels and the library.
//
// Work is a number of fixed blocks. Each thread begins with its own range of
// them, so that it walks through memory of its own and finds in its cache what
// it touched in the command before, and then takes blocks from the ends of the
// others' ranges: a slow core does not hold up a fast one. As blocks never
// depend on who runs them, neither do results. The caller takes part. Idle
// threads spin for about 100 us, so that regions close together cost less than
// 1 us, then sleep.
//
// If there are more threads than cores, only as many as cores are awake: they
// run the blocks of the others, too.

#pragma once

#include "runtime/cpu/cores.h"
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

  /// Starts a pool of `threads` threads, at least 1, the caller included. There
  /// are fewer if the system refuses one: see threads() and failure(). They
  /// share `cores`.
  explicit ThreadPool(int threads, int cores = availableCores());
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  /// The errno of the thread that could not be started; 0 if all run.
  int failure() const { return failure_; }

  /// Whether there are more threads than cores.
  bool isCrowded() const { return idle_ > 0; }
  /// The number of threads that have a core each. Work whose parts wait for
  /// each other should have no more parts: they would also wait for a core.
  int threadsWithCores() const { return threads() - idle_; }
  /// Wakes all threads of a crowded pool: blocks that wait for each other need
  /// one each.
  void wakeCrowd();

  /// Runs block(context, i) for each i in [0, count), count < 2^31. One region
  /// at a time: not from two threads at once, nor from inside a block.
  void run(int64_t count, Block block, void *context) {
    start(count, block, context);
    finish();
  }

  /// The two halves of run: between them the caller may do work of its own.
  void start(int64_t count, Block block, void *context);
  void finish();

private:
  /// Blocks that no thread has taken yet: the first in the upper half of the
  /// word, the end in the lower. The owner takes from the front, other threads
  /// from the back, each by a compare-and-swap.
  struct alignas(64) Stretch {
    std::atomic<uint64_t> left{0};
    bool take(bool front, int64_t &block);
  };

  /// The argument of a thread: its pool and number.
  struct Worker {
    ThreadPool *pool;
    size_t self;
    pthread_t thread;
  };
  static void *enter(void *worker);
  void work(size_t self);
  /// Runs blocks until none is left; returns how many it ran.
  int32_t drain(size_t self);
  int32_t drainStretch(size_t of, bool own);
  /// Waits for a region after `seen`; false when the pool ends.
  bool waitForRegion(int32_t &seen);

  std::unique_ptr<Stretch[]>
      stretches_; // one for each thread, the caller's first
  alignas(64) std::atomic<int32_t> unfinished_{0};
  alignas(64) Block block_ = nullptr;
  void *context_ = nullptr;

  alignas(64) std::atomic<int32_t> region_{0}; // a count; futex of the sleepers
  std::atomic<int32_t> sleepers_{0};
  int32_t idle_ = 0; // workers that may sleep through a region
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Worker>> workers_;
  Origin origin_; // a child of fork has none of the threads
  int failure_ = 0;
};

} // namespace gradus::runtime
