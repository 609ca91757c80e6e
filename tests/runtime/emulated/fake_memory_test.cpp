// Allocations of the emulated card, and what of them holds something.

#include "runtime/emulated/fake_memory.h"

#include <gtest/gtest.h>

#include <bit>

using namespace gradus::runtime::cuda;

TEST(FakeMemory, KnowsWhereBytesLie) {
  FakeMemory memory;
  DevicePointer start = memory.allocate(100, false);
  ASSERT_NE(start, 0u);
  EXPECT_EQ(start % 256, 0u);
  EXPECT_EQ(memory.outside(start, 100), "");
  EXPECT_EQ(memory.outside(start + 90, 10), "");
  EXPECT_EQ(memory.outside(start + 90, 26),
            "ends 16 bytes behind the allocation of 100 bytes");
  EXPECT_EQ(memory.outside(start + 100, 1), "lies outside of all allocations");
  EXPECT_EQ(memory.outside(64, 1), "lies outside of all allocations");
  EXPECT_EQ(memory.used(), 100u);
}

TEST(FakeMemory, KnowsWhatWasFreed) {
  FakeMemory memory;
  DevicePointer start = memory.allocate(100, false);
  EXPECT_FALSE(memory.free(start + 1, false));
  EXPECT_FALSE(memory.free(start, true));
  EXPECT_TRUE(memory.free(start, false));
  EXPECT_FALSE(memory.free(start, false));
  EXPECT_EQ(memory.outside(start + 8, 4),
            "lies in the allocation of 100 bytes that was freed");
  EXPECT_EQ(memory.used(), 0u);
  EXPECT_NE(memory.allocate(100, false), start);
}

TEST(FakeMemory, KnowsWhatWasWritten) {
  FakeMemory memory;
  DevicePointer start = memory.allocate(64, false);
  EXPECT_FALSE(memory.isWritten(start, 1));
  memory.noteWritten(start + 8, 16);
  EXPECT_TRUE(memory.isWritten(start + 8, 16));
  EXPECT_FALSE(memory.isWritten(start + 8, 17));
  memory.forget(start + 12, 4);
  EXPECT_TRUE(memory.isWritten(start + 8, 4));
  EXPECT_FALSE(memory.isWritten(start + 15, 1));
  EXPECT_EQ(*std::bit_cast<uint32_t *>(start + 12), 0xFFFFFFFFu);
}

TEST(FakeMemory, TellsPinnedMemoryApart) {
  FakeMemory memory;
  DevicePointer card = memory.allocate(64, false),
                host = memory.allocate(64, true);
  EXPECT_FALSE(memory.isPinned(card));
  EXPECT_TRUE(memory.isPinned(host + 63));
  EXPECT_FALSE(memory.isPinned(host + 64));
  EXPECT_TRUE(memory.isWritten(host, 64));
  EXPECT_EQ(memory.used(), 64u);
}
