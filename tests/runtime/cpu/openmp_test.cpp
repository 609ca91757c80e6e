#include "runtime/cpu/openmp.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

using namespace gradus::runtime;

namespace {

/// The functions by the types that GCC calls them with.
template <typename Function> Function *find(const char *name) {
  for (const OpenMpFunction &function : openMpFunctions())
    if (std::strcmp(function.name, name) == 0)
      return reinterpret_cast<Function *>(function.address);
  return nullptr;
}

auto *const start =
    find<void(void (*)(void *), void *, unsigned)>("GOMP_parallel_start");
auto *const end = find<void()>("GOMP_parallel_end");
auto *const barrier = find<void()>("GOMP_barrier");
auto *const loopStart = find<bool(long, long, long, long, long *, long *)>(
    "GOMP_loop_static_start");
auto *const loopNext = find<bool(long *, long *)>("GOMP_loop_static_next");
auto *const loopEnd = find<void()>("GOMP_loop_end_nowait");
auto *const maxThreads = find<int()>("omp_get_max_threads");
auto *const numThreads = find<int()>("omp_get_num_threads");
auto *const threadNumber = find<int()>("omp_get_thread_num");
auto *const inParallel = find<int()>("omp_in_parallel");

/// #pragma omp parallel num_threads(n)
void parallel(unsigned threads, void (*body)(void *), void *data) {
  start(body, data, threads);
  body(data);
  end();
}

struct Seen {
  std::atomic<int> parts[8] = {};
  std::atomic<int> wrong{0};
  int expected = 0;
};

void note(void *data) {
  auto *seen = static_cast<Seen *>(data);
  ++seen->parts[threadNumber()];
  seen->wrong +=
      numThreads() != seen->expected || inParallel() != (seen->expected > 1);
}

void expectEachPartOnce(Seen &seen, int parts) {
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(seen.parts[i], i < parts ? 1 : 0);
  EXPECT_EQ(seen.wrong, 0);
}

} // namespace

TEST(OpenMp, RunsEachPartOnceOnThePool) {
  ThreadPool pool(2);
  OpenMpScope scope(pool, 2);
  EXPECT_EQ(maxThreads(), 2);
  EXPECT_FALSE(inParallel());
  for (int parts : {1, 2, 5}) {
    Seen seen;
    seen.expected = parts;
    parallel(static_cast<unsigned>(parts), note, &seen);
    expectEachPartOnce(seen, parts);
  }
}

TEST(OpenMp, RunsPartsInTurnWithoutAPool) {
  Seen seen;
  seen.expected = 3;
  parallel(3, note, &seen);
  expectEachPartOnce(seen, 3);
  EXPECT_EQ(maxThreads(), 1);
}

TEST(OpenMp, NeverPromisesMorePartsThanThreads) {
  ThreadPool pool(2);
  OpenMpScope scope(pool, 64);
  EXPECT_EQ(maxThreads(), 2);
}

TEST(OpenMp, HoldsPartsAtABarrier) {
  ThreadPool pool(3);
  OpenMpScope scope(pool, 3);
  struct Facts {
    std::atomic<int> arrived{0}, tooEarly{0};
  } facts;
  for (int i = 1; i <= 100; ++i) {
    parallel(
        3,
        [](void *data) {
          auto *facts = static_cast<Facts *>(data);
          ++facts->arrived;
          barrier();
          facts->tooEarly += facts->arrived % 3 != 0;
          barrier();
        },
        &facts);
    ASSERT_EQ(facts.arrived, 3 * i);
  }
  EXPECT_EQ(facts.tooEarly, 0);
}

TEST(OpenMp, BeginsAllPartsWhereThreadsSleep) {
  ThreadPool pool(3, /*cores=*/1); // both workers may sleep through a region
  OpenMpScope scope(pool, 3);
  struct Facts {
    std::atomic<int> arrived{0}, waiting{0};
  } facts;
  for (int i = 1; i <= 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    facts.arrived = 0;
    parallel(
        3,
        [](void *data) { // as oneDNN's own barriers wait
          auto *facts = static_cast<Facts *>(data);
          ++facts->arrived;
          auto late =
              std::chrono::steady_clock::now() + std::chrono::seconds(20);
          while (facts->arrived < 3 && std::chrono::steady_clock::now() < late)
            std::this_thread::yield();
          facts->waiting += facts->arrived < 3;
        },
        &facts);
    ASSERT_EQ(facts.waiting, 0) << "parts that nobody began";
  }
}

TEST(OpenMp, SharesALoopBetweenParts) {
  ThreadPool pool(2);
  OpenMpScope scope(pool, 2);
  for (long chunk : {0L, 1L, 3L}) {
    struct Facts {
      long chunk;
      std::atomic<int> runs[40] = {};
    } facts{chunk};
    parallel(
        2,
        [](void *data) {
          auto *facts = static_cast<Facts *>(data);
          long begin, stop;
          if (loopStart(5, 38, 3, facts->chunk, &begin, &stop))
            do
              for (long i = begin; i < stop; i += 3)
                ++facts->runs[i];
            while (loopNext(&begin, &stop));
          loopEnd();
        },
        &facts);
    for (long i = 0; i < 40; ++i)
      EXPECT_EQ(facts.runs[i], i >= 5 && i < 38 && i % 3 == 2)
          << i << " in chunks of " << chunk;
  }
}

TEST(OpenMp, RunsARegionInsideAPartByItself) {
  ThreadPool pool(2);
  OpenMpScope scope(pool, 2);
  std::atomic<int> inner{0};
  parallel(
      2,
      [](void *data) {
        parallel(
            3, [](void *count) { ++*static_cast<std::atomic<int> *>(count); },
            data);
      },
      &inner);
  EXPECT_EQ(inner, 6);
}

TEST(OpenMp, RunsAllPartsOfARegionWhosePartsBeginOthers) {
  std::atomic<int> inner{0};
  auto begin = [](void *count) {
    parallel(
        2, [](void *count) { ++*static_cast<std::atomic<int> *>(count); },
        count);
  };
  parallel(3, begin, &inner);
  EXPECT_EQ(inner, 6);
}
