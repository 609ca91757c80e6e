#include "runtime/cpu/call_memory.h"

#include <gtest/gtest.h>

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
