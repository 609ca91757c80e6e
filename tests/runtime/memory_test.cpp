#include "runtime/memory.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace gradus::runtime;

TEST(MemoryBlock, IsZeroAndAligned) {
  auto block = MemoryBlock::allocate(100000, "state");
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(block->size(), 100000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(block->data()) % 64, 0u);
  for (size_t i = 0; i < block->size(); ++i)
    ASSERT_EQ(block->data()[i], 0);
}

TEST(MemoryBlock, OfNothingIsNothing) {
  auto block = MemoryBlock::allocate(0, "arena");
  ASSERT_TRUE(block.ok());
  EXPECT_EQ(block->data(), nullptr);
}

TEST(MemoryBlock, RefusesWhatTheMachineDoesNotHave) {
  std::string words =
      MemoryBlock::allocate(size_t{1} << 60, "arena").status().message();
  EXPECT_EQ(words.find("needs 1152921504606846976 bytes for its arena, and "
                       "this machine has "),
            0u);
}

TEST(MemoryBlock, EndsInAFault) {
  auto block = MemoryBlock::allocate(4096, "state");
  EXPECT_DEATH(block->data()[4096] = 1, "");
  EXPECT_DEATH(block->data()[-1] = 1, "");
}

// The sanitizer of function types looks in front of a function.
#if defined(__clang__)
__attribute__((no_sanitize("function")))
#endif
static int call(const uint8_t *code) {
  return reinterpret_cast<int (*)()>(reinterpret_cast<uintptr_t>(code))();
}

TEST(LoadCode, MakesCodeThatRunsAndCannotBeWritten) {
  const uint8_t fortyTwo[] = {0xb8, 42, 0, 0, 0, 0xc3}; // mov eax, 42; ret
  auto code = loadCode(fortyTwo);
  ASSERT_TRUE(code.ok());
  EXPECT_EQ(call(code->data()), 42);
  EXPECT_DEATH(code->data()[0] = 1, "");
}
