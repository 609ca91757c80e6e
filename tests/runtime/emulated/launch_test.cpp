// Kernels written by hand: what threads give each other, and what is wrong with
// those that would be wrong on a GPU.

#include "runtime/emulated/launch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

using namespace gradus::runtime::emulated;

namespace {

std::vector<int32_t> numbers;

Memory &memory() {
  static Memory *memory = nullptr;
  delete memory;
  memory = new Memory;
  memory->add(numbers.data(), int64_t(numbers.size() * 4), 4);
  return *memory;
}

Launch launchOf(Entry entry, int64_t threads, int64_t blocks) {
  Launch launch;
  launch.name = "test";
  launch.entry = entry;
  launch.threads = threads;
  launch.blocks = blocks;
  launch.shared = 4 * threads;
  launch.arguments = {numbers.data()};
  return launch;
}

std::string messageOf(Entry entry, int64_t threads = 64, int64_t blocks = 2) {
  numbers.assign(size_t(threads * blocks), 0);
  return run(launchOf(entry, threads, blocks), memory()).message();
}

int32_t *global(Thread *t, int64_t i, bool writes) {
  auto *all = static_cast<int32_t *>(t->arguments[0]);
  t->services->access(t, 0, i, t->threads * t->blocks, 4, 4, writes, all + i);
  return all + i;
}

int32_t *shared(Thread *t, int64_t i, bool writes) {
  auto *all = reinterpret_cast<int32_t *>(t->shared);
  t->services->access(t, -1, i, t->threads, 4, 4, writes, all + i);
  return all + i;
}

/// Each thread gives its neighbour across the block its number.
template <bool hasBarrier> void reverse(Thread *t) {
  *shared(t, t->thread, true) = int32_t(t->thread);
  if (hasBarrier)
    t->services->barrier(t, 0);
  *global(t, t->block * t->threads + t->thread, true) =
      *shared(t, t->threads - 1 - t->thread, false);
}

/// The sum over each warp, in all of its threads, twice over.
void sumWarps(Thread *t) {
  auto sum = int32_t(t->thread);
  for (int32_t mask = 16; mask > 0; mask /= 2)
    sum += t->services->shuffleXor(t, mask, sum, mask);
  for (int32_t mask = 16; mask > 0; mask /= 2)
    sum += t->services->shuffleXor(t, 32 + mask, sum, mask);
  *global(t, t->block * t->threads + t->thread, true) = sum;
}

} // namespace

TEST(EmulatedLaunch, AddsUpWhatThreadsHaveExecuted) {
  numbers.assign(256, 0);
  int64_t operations = 5;
  auto status =
      run(launchOf([](Thread *t) { t->operations += t->thread; }, 4, 3),
          memory(), operations);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(operations, 5 + 3 * (0 + 1 + 2 + 3));
}

TEST(EmulatedLaunch, PassesValuesThroughSharedMemory) {
  for (unsigned seed : {0, 1, 2}) {
    numbers.assign(256, -1);
    Launch launch = launchOf(reverse<true>, 128, 2);
    launch.seed = seed;
    auto status = run(launch, memory());
    ASSERT_TRUE(status.ok()) << status;
    for (int i = 0; i < 256; ++i)
      EXPECT_EQ(numbers[size_t(i)], 127 - i % 128);
  }
}

TEST(EmulatedLaunch, ShufflesWithinWarps) {
  numbers.assign(64, 0);
  auto status = run(launchOf(sumWarps, 64, 1), memory());
  ASSERT_TRUE(status.ok()) << status;
  for (int i = 0; i < 64; ++i)
    EXPECT_EQ(numbers[size_t(i)], 32 * (i < 32 ? 496 : 496 + 1024));
}

TEST(EmulatedLaunch, FindsMissingBarriers) {
  EXPECT_EQ(messageOf(reverse<false>),
            "kernel test, block 0, thread 0: element 63 of shared memory 0: "
            "reads what no thread has written");
  EXPECT_EQ(messageOf([](Thread *t) {
              *global(t, (t->thread + 1) % t->threads, true) = 1;
              global(t, t->thread, false);
            }).substr(0, 62),
            "kernel test, block 0, thread 1: element 1 of argument 0: reads");
}

TEST(EmulatedLaunch, FindsElementsOutside) {
  EXPECT_EQ(messageOf([](Thread *t) { *global(t, t->thread + 70, true) = 1; }),
            "kernel test, block 0, thread 58: writes element 128 of argument "
            "0, which has 128");
  EXPECT_EQ(messageOf([](Thread *t) {
              static int32_t mine;
              t->services->access(t, kAddress, 0, 1, 4, 4, 0, &mine);
            }),
            "kernel test, block 0, thread 0: reads 4 bytes of an address "
            "outside of the device's memory");
}

TEST(EmulatedLaunch, FindsMisalignedVectors) {
  EXPECT_EQ(messageOf([](Thread *t) {
              auto *all = static_cast<int32_t *>(t->arguments[0]);
              t->services->access(t, kAddress, 0, 1, 16, 16, 0, all + 1);
            }).find("at an address that is no multiple of 16") !=
                std::string::npos,
            true);
}

TEST(EmulatedLaunch, FindsBarriersThatNotAllReach) {
  EXPECT_EQ(messageOf([](Thread *t) {
              if (t->thread != 5)
                t->services->barrier(t, 0);
            }),
            "kernel test, block 0, thread 0: waits at a barrier that thread 5 "
            "does not reach, which has ended");
  EXPECT_EQ(messageOf([](Thread *t) {
              if (t->thread < 32)
                t->services->barrier(t, 0);
              else
                t->services->barrier(t, 1);
            }),
            "kernel test, block 0, thread 0: waits at a barrier that thread 32 "
            "does not reach, which waits at a barrier");
  EXPECT_EQ(messageOf([](Thread *t) {
              if (t->thread % 2)
                t->services->shuffleXor(t, 0, 1, 1);
              else
                t->services->warpBarrier(t, 1);
            }),
            "kernel test, block 0, thread 0: waits at a barrier of its warp "
            "that thread 1 does not reach, which waits at a shuffle");
}

TEST(EmulatedLaunch, FindsRacesBetweenBlocks) {
  EXPECT_EQ(messageOf([](Thread *t) {
              if (t->thread == 0)
                *global(t, 7, true) = 1;
            }),
            "kernel test, block 1, thread 0: element 7 of argument 0: writes "
            "what thread 0 of block 0 writes too, with no barrier between "
            "them");
}

TEST(EmulatedLaunch, LetsNobodyWriteToConstants) {
  auto readTwice = [](Thread *t) { global(t, 3, false), global(t, 3, false); };
  auto write = [](Thread *t) { *global(t, 3, true) = 1; };
  numbers.assign(64, 0);
  Memory constants;
  constants.addConstant(numbers.data(), 64 * 4);
  constants.watch = [](const void *, int64_t, bool writes) {
    return writes ? "" : "nobody asks about reads";
  };
  EXPECT_EQ(run(launchOf(readTwice, 64, 1), constants).message(), "");
  EXPECT_EQ(run(launchOf(write, 64, 1), constants).message(),
            "kernel test, block 0, thread 0: element 3 of argument 0: writes "
            "what kernels only read");
}

TEST(EmulatedLaunch, ComputesFunctions) {
  numbers.assign(64, 0);
  auto status = run(launchOf(
                        [](Thread *t) {
                          bool right =
                              t->services->exp32(1) == std::exp(1.0f) &&
                              t->services->tanh64(0.5) == std::tanh(0.5) &&
                              t->services->fmod32(7, 4) == 3 &&
                              t->services->pow64(2, 10) == 1024 &&
                              t->services->round32(2.5f) == 3;
                          *global(t, t->thread, true) = right;
                        },
                        64, 1),
                    memory());
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(std::accumulate(numbers.begin(), numbers.end(), 0), 64);
}
