// What the kernel counts.

#include "tool/train/memory_use.h"

#include <gtest/gtest.h>

#include <memory>

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
  EXPECT_TRUE(meter.onSave({5, SaveKind::due, {}}).ok());
  EXPECT_EQ(meter.bytes(), 0u);
  EXPECT_TRUE(meter.onSave({9, SaveKind::end, {}}).ok());
  EXPECT_GE(meter.bytes(), kBytes / 2);
}
