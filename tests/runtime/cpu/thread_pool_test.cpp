#include "runtime/cpu/thread_pool.h"
#include "runtime/float_mode.h"

#include <gtest/gtest.h>

#include <cfenv>
#include <chrono>
#include <numeric>
#include <sys/wait.h>
#include <unistd.h>

using namespace gradus::runtime;

namespace {

struct Counts {
  std::vector<std::atomic<int>> runs;
  explicit Counts(size_t blocks) : runs(blocks) {}
};

void count(void *counts, int64_t block) {
  ++static_cast<Counts *>(counts)->runs[static_cast<size_t>(block)];
}

void nothing(void *, int64_t) {}

} // namespace

TEST(ThreadPool, RunsEachBlockOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (int64_t blocks : {0, 1, 2, 7, 1000}) {
      Counts counts(static_cast<size_t>(blocks));
      pool.run(blocks, count, &counts);
      for (auto &runs : counts.runs)
        ASSERT_EQ(runs, 1);
    }
  }
}

TEST(ThreadPool, SurvivesManyRegionsCloseTogether) {
  ThreadPool pool(3);
  Counts counts(5);
  for (int i = 0; i < 20000; ++i)
    pool.run(5, count, &counts);
  for (auto &runs : counts.runs)
    EXPECT_EQ(runs, 20000);
}

TEST(ThreadPool, RunsEachBlockOnceWhereItHasMoreThreadsThanCores) {
  for (int cores : {1, 2, 7, 8}) {
    ThreadPool pool(8, cores);
    EXPECT_EQ(pool.threads(), 8);
    EXPECT_EQ(pool.isCrowded(), cores < 8);
    EXPECT_EQ(pool.threadsWithCores(), cores);
    Counts counts(100);
    for (int i = 0; i < 2000; ++i)
      pool.run(100, count, &counts);
    for (auto &runs : counts.runs)
      ASSERT_EQ(runs, 2000);
  }
}

TEST(ThreadPool, WakesThreadsThatSleep) {
  ThreadPool pool(2);
  Counts counts(64);
  for (int i = 0; i < 20; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    pool.run(64, count, &counts);
  }
  for (auto &runs : counts.runs)
    EXPECT_EQ(runs, 20);
}

TEST(ThreadPool, LetsTheCallerDoAPartOfItsOwn) {
  ThreadPool pool(2);
  Counts counts(3);
  int own = 0;
  pool.start(3, count, &counts);
  ++own;
  pool.finish();
  EXPECT_EQ(own, 1);
  for (auto &runs : counts.runs)
    EXPECT_EQ(runs, 1);
}

TEST(ThreadPool, FlushesDenormalsInItsThreads) {
  ThreadPool pool(2);
  FlushDenormals flush; // the caller may run the block itself
  std::atomic<int> denormals{0};
  for (int i = 0; i < 50; ++i)
    pool.start(
        1,
        [](void *seen, int64_t) {
          volatile float tiny = 1e-40f;
          if (tiny * 0.5f != 0.0f)
            ++*static_cast<std::atomic<int> *>(seen);
        },
        &denormals),
        std::this_thread::sleep_for(std::chrono::milliseconds(1)),
        pool.finish();
  EXPECT_EQ(denormals, 0);
}

TEST(ThreadPool, StartsAndJoinsQuickly) {
  ThreadPool pool(2);
  double best = 1e9;
  for (int round = 0; round < 200; ++round) {
    auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < 100; ++i)
      pool.run(2, nothing, nullptr);
    std::chrono::duration<double, std::micro> took =
        std::chrono::steady_clock::now() - before;
    best = std::min(best, took.count() / 100);
  }
  RecordProperty("microseconds", std::to_string(best));
  std::printf("a region of two threads takes %.2f us\n", best);
  EXPECT_LT(best, 20) << "generous: other programs may have the cores";
}

TEST(ThreadPool, IsLetGoInAChildOfFork) {
  auto pool = std::make_unique<ThreadPool>(3);
  pid_t child = fork();
  if (child == 0) {
    pool.reset(); // There is no thread to wait for.
    Counts counts(10);
    ThreadPool(3).run(10, count, &counts);
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  Counts counts(10);
  pool->run(10, count, &counts);
}

TEST(ThreadPool, RaisesNoSignalsForNumbers) {
  feenableexcept(FE_DIVBYZERO); // as new threads then have it, too
  {
    ThreadPool pool(2);
    FlushDenormals flush;
    for (int i = 0; i < 50; ++i)
      pool.run(
          8,
          [](void *, int64_t) {
            volatile float zero = 0, infinity = 1 / zero;
            (void)infinity;
          },
          nullptr);
  }
  feclearexcept(FE_ALL_EXCEPT);
  fedisableexcept(FE_ALL_EXCEPT);
}
