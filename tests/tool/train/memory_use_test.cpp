// What the kernel counts.

#include "tool/train/memory_use.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <unistd.h>
#include <vector>

TEST(MemoryUse, GrowsWithWhatIsTouched) {
  constexpr size_t kBytes = 64 << 20;
  uint64_t before = gradus::cli::anonymousBytes();
  auto memory = std::make_unique<volatile char[]>(kBytes);
  for (size_t i = 0; i < kBytes; i += 4096)
    memory[i] = 1;
  EXPECT_GE(gradus::cli::anonymousBytes(), before + kBytes / 2);
}

TEST(MemoryUse, OfAnEmptySessionIsSmall) {
  uint64_t bytes = gradus::cli::emptySessionBytes(2);
  EXPECT_LT(bytes, 4u << 20);
}

TEST(MemoryUse, IsMeasuredAtTheEndOfARun) {
  using namespace gradus::training;
  gradus::cli::MemoryMeter meter;
  meter.begin(1);
  constexpr size_t kBytes = 64 << 20;
  auto memory = std::make_unique<volatile char[]>(kBytes);
  for (size_t i = 0; i < kBytes; i += 4096)
    memory[i] = 1;
  SaveReport due{5, SaveKind::due, {}}, end{9, SaveKind::end, {}};
  EXPECT_TRUE(meter.beforeSave(due).ok());
  EXPECT_EQ(meter.bytes(), 0u);
  EXPECT_TRUE(meter.beforeSave(end).ok());
  EXPECT_GE(meter.bytes(), kBytes / 2);
  // What is gathered to be saved is no memory of the steps.
  auto gathered = std::make_unique<volatile char[]>(kBytes);
  for (size_t i = 0; i < kBytes; i += 4096)
    gathered[i] = 1;
  EXPECT_TRUE(meter.onSave(end).ok());
  EXPECT_LT(meter.bytes(), kBytes + kBytes / 2);
}

/// Ends the process with 0 once threads have released memory at the same time.
[[noreturn]] static void releaseInThreads(int count) {
  std::atomic<int> ready{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&] {
      ++ready;
      while (ready < count)
        continue;
      gradus::cli::releaseFreed();
    });
  for (std::thread &thread : threads)
    thread.join();
  _exit(0);
}

// Simulated ranks are threads that measure at the same time. With a sanitizer,
// whose malloc is another, theirs are a process's first calls of the C
// library's allocator, so each round is a process of its own.
TEST(MemoryUse, MayBeReleasedByThreadsAtTheSameTime) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int round = 0; round < 10; ++round)
    EXPECT_EXIT(releaseInThreads(8), testing::ExitedWithCode(0), "");
}
