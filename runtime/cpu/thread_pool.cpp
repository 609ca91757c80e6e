// The pool: one ticket for handing out blocks, spinning first, a futex after.

#include "runtime/cpu/thread_pool.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace gradus::runtime {

namespace {

constexpr auto kSpin = std::chrono::microseconds(100);

void sleepWhile(std::atomic<int32_t> &word, int32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wakeAll(std::atomic<int32_t> &word) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT32_MAX, nullptr, nullptr, 0);
}

/// Spins until `done` holds or the time is up; whether it holds.
template <typename Done> bool spinUntil(Done done) {
  auto deadline = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 64; ++i) {
      if (done())
        return true;
      _mm_pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return done();
}

constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;

} // namespace

ThreadPool::ThreadPool(int threads) {
  // Signals are for the program's own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  for (int i = 1; i < threads; ++i)
    workers_.emplace_back([this] { work(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ThreadPool::~ThreadPool() {
  stop_ = true;
  ++signal_;
  wakeAll(signal_);
  for (std::thread &worker : workers_)
    worker.join();
}

void ThreadPool::start(int64_t count, Block block, void *context) {
  block_ = block;
  context_ = context;
  count_ = count;
  unfinished_.store(static_cast<int32_t>(count), std::memory_order_relaxed);
  uint64_t epoch = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
  ticket_.store(epoch << 32 | static_cast<uint64_t>(count));
  // A worker counts itself as asleep before it looks at the ticket for the last
  // time, so one of us sees the other.
  if (sleepers_.load() > 0 && count > 0) {
    ++signal_;
    wakeAll(signal_);
  }
}

void ThreadPool::finish() {
  int32_t ran = drain();
  unfinished_.fetch_sub(ran, std::memory_order_acq_rel);
  auto done = [this] {
    return unfinished_.load(std::memory_order_acquire) == 0;
  };
  if (spinUntil(done))
    return;
  while (!done())
    sched_yield(); // A worker lost its core in the middle of a block.
}

bool ThreadPool::hasWork() const {
  return static_cast<uint32_t>(ticket_.load()) != 0;
}

int32_t ThreadPool::drain() {
  int32_t ran = 0;
  uint64_t ticket = ticket_.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(ticket) != 0) {
    if (!ticket_.compare_exchange_weak(ticket, ticket - 1,
                                       std::memory_order_acq_rel,
                                       std::memory_order_acquire))
      continue;
    // The region cannot end while this block is unfinished: its facts hold.
    block_(context_, count_ - static_cast<uint32_t>(ticket));
    ++ran;
    ticket = ticket_.load(std::memory_order_acquire);
  }
  return ran;
}

bool ThreadPool::waitForWork() {
  auto ready = [this] { return hasWork() || stop_.load(); };
  while (!spinUntil(ready)) {
    int32_t seen = signal_.load();
    ++sleepers_;
    if (!ready())
      sleepWhile(signal_, seen);
    --sleepers_;
  }
  return !stop_.load();
}

void ThreadPool::work() {
  FlushDenormals flush;
  while (waitForWork())
    if (int32_t ran = drain())
      unfinished_.fetch_sub(ran, std::memory_order_acq_rel);
}

int availableCores() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0)
    return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return std::max(1, CPU_COUNT(&set));
}

FlushDenormals::FlushDenormals() : saved_(_mm_getcsr()) {
  _mm_setcsr(saved_ | kFlushToZero | kDenormalsAreZero);
}

FlushDenormals::~FlushDenormals() { _mm_setcsr(saved_); }

} // namespace gradus::runtime
