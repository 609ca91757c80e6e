// The pool: each thread has a range of blocks; threads spin first, then wait on
// a futex.

#include "runtime/cpu/thread_pool.h"

#include "runtime/float_mode.h"

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

/// Kernels keep intermediate values of fused loops on the stack: attention of
/// pairs with dropout up to 2.1 MiB, Winograd's convolutions up to 1.75 MiB.
/// The size is set because the default is that of `ulimit -s`.
constexpr size_t kStackSize = size_t{8} << 20;

void sleepWhile(std::atomic<int32_t> &word, int32_t value) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, nullptr, nullptr, 0);
}

void wake(std::atomic<int32_t> &word, int32_t count) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

void wakeAll(std::atomic<int32_t> &word) { wake(word, INT32_MAX); }

/// Spins until `done` holds or the time is up; returns whether it holds.
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

} // namespace

ThreadPool::ThreadPool(int threads, int cores)
    : stretches_(std::make_unique<Stretch[]>(static_cast<size_t>(threads))),
      idle_(std::max(0, threads - std::max(1, cores))) {
  // Only the program's own threads handle signals.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, kStackSize);
  for (size_t i = 1; i < static_cast<size_t>(threads) && !failure_; ++i) {
    auto worker = std::make_unique<Worker>(Worker{this, i, {}});
    failure_ =
        pthread_create(&worker->thread, &attributes, enter, worker.get());
    if (!failure_)
      workers_.push_back(std::move(worker));
  }
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

ThreadPool::~ThreadPool() {
  if (origin_.isOther())
    return;
  stop_ = true;
  ++region_;
  wakeAll(region_);
  for (const auto &worker : workers_)
    pthread_join(worker->thread, nullptr);
}

void *ThreadPool::enter(void *worker) {
  auto *own = static_cast<Worker *>(worker);
  own->pool->work(own->self);
  return nullptr;
}

bool ThreadPool::Stretch::take(bool front, int64_t &block) {
  uint64_t now = left.load(std::memory_order_acquire);
  for (;;) {
    uint64_t first = now >> 32, end = static_cast<uint32_t>(now);
    if (first == end)
      return false;
    uint64_t rest = front ? (first + 1) << 32 | end : first << 32 | (end - 1);
    if (left.compare_exchange_weak(now, rest, std::memory_order_acq_rel,
                                   std::memory_order_acquire)) {
      block = static_cast<int64_t>(front ? first : end - 1);
      return true;
    }
  }
}

void ThreadPool::start(int64_t count, Block block, void *context) {
  block_ = block;
  context_ = context;
  unfinished_.store(static_cast<int32_t>(count), std::memory_order_relaxed);
  // A thread that takes a block sees the stores above. A late thread may take a
  // block of one range before the other ranges are set: it belongs to this
  // region.
  auto blocks = static_cast<uint64_t>(count);
  uint64_t sharers = workers_.size() + 1, first = 0;
  for (uint64_t i = 0; i < sharers; ++i) {
    uint64_t end = blocks * (i + 1) / sharers;
    if (end > first)
      stretches_[i].left.store(first << 32 | end, std::memory_order_release);
    first = end;
  }
  // A worker counts itself as asleep before its last look at the region, so
  // that either it sees the new region or we see the sleeper.
  ++region_;
  if (int32_t asleep = sleepers_.load(); asleep > idle_)
    wake(region_, idle_ > 0 ? asleep - idle_ : INT32_MAX);
}

void ThreadPool::wakeCrowd() {
  if (isCrowded() && sleepers_.load() > 0)
    wakeAll(region_);
}

void ThreadPool::finish() {
  int32_t ran = drain(0);
  unfinished_.fetch_sub(ran, std::memory_order_acq_rel);
  auto done = [this] {
    return unfinished_.load(std::memory_order_acquire) == 0;
  };
  if (spinUntil(done))
    return;
  while (!done())
    sched_yield(); // A worker lost its core in the middle of a block.
}

int32_t ThreadPool::drain(size_t self) {
  int32_t ran = drainStretch(self, true);
  size_t sharers = workers_.size() + 1;
  for (size_t i = 1; i < sharers; ++i)
    ran += drainStretch((self + i) % sharers, false);
  return ran;
}

int32_t ThreadPool::drainStretch(size_t of, bool own) {
  int32_t ran = 0;
  // The region cannot end while a block is unfinished: `block_` and `context_`
  // stay valid.
  for (int64_t block; stretches_[of].take(own, block); ++ran)
    block_(context_, block);
  return ran;
}

bool ThreadPool::waitForRegion(int32_t &seen) {
  auto begun = [&] { return region_.load() != seen; };
  auto isSpare = [&] { // Enough other threads spin.
    return sleepers_.load(std::memory_order_relaxed) < idle_;
  };
  while (isSpare() ? !begun() : !spinUntil(begun)) {
    ++sleepers_;
    sleepWhile(region_, seen);
    --sleepers_;
  }
  seen = region_.load();
  return !stop_.load();
}

void ThreadPool::work(size_t self) {
  FlushDenormals flush;
  int32_t seen = 0;
  while (waitForRegion(seen))
    if (int32_t ran = drain(self))
      unfinished_.fetch_sub(ran, std::memory_order_acq_rel);
}

} // namespace gradus::runtime
