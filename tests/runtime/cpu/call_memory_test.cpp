#include "runtime/cpu/call_memory.h"

#include "allocations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

using namespace gradus::runtime;

TEST(CallMemory, GivesEachObjectItsOwnCell) {
  CallMemoryScope scope;
  std::set<void *> objects;
  for (int i = 0; i < 1000; ++i) { // more than there are cells
    void *object = allocateForCall(64);
    std::memset(object, i, 64);
    EXPECT_TRUE(objects.insert(object).second);
  }
  for (void *object : objects)
    freeForCall(object);
}

TEST(CallMemory, UsesACellAgain) {
  CallMemoryScope scope;
  void *first = allocateForCall(8);
  freeForCall(first);
  void *second = allocateForCall(500);
  EXPECT_EQ(first, second);
  freeForCall(second);
}

TEST(CallMemory, ServesLargeObjectsFromTheHeap) {
  CallMemoryScope scope;
  void *large = allocateForCall(100000);
  std::memset(large, 1, 100000);
  freeForCall(large);
  freeForCall(nullptr);
}

TEST(CallMemory, FreesFromAnotherThread) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([] {
      CallMemoryScope scope;
      for (int round = 0; round < 1000; ++round) {
        auto *object = static_cast<int *>(allocateForCall(sizeof(int)));
        *object = round;
        std::thread *none = nullptr;
        freeForCall(none);
        ASSERT_EQ(*object, round);
        freeForCall(object);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
}

TEST(CallMemory, KeepsBlocksForLaterCalls) {
  CallMemoryScope scope;
  int64_t before = 0;
  for (int round = 0; round < 2; ++round) {
    before = gradus::test::allocations();
    void *small = nullptr, *large = nullptr;
    ASSERT_EQ(alignForCall(&small, 64, 1000), 0);
    ASSERT_EQ(alignForCall(&large, 4096, 100000), 0);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % 4096, 0u);
    EXPECT_NE(small, large);
    std::memset(large, 1, 100000);
    std::memset(small, 1, 1000);
    releaseForCall(small);
    releaseForCall(large);
  }
  EXPECT_EQ(gradus::test::allocations(), before);
}

TEST(CallMemory, GivesOrdinaryMemoryOutsideOfCalls) {
  void *memory = nullptr;
  ASSERT_EQ(alignForCall(&memory, 64, 1000), 0);
  std::memset(memory, 1, 1000);
  releaseForCall(memory);
  releaseForCall(std::malloc(10)); // what the library got elsewhere
  releaseForCall(nullptr);
}
