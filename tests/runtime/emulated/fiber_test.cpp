// Functions that stop in the middle keep what they have, each on its own stack.

#include "runtime/emulated/fiber.h"

#include <gtest/gtest.h>

#include <vector>

using gradus::runtime::emulated::Fiber;

namespace {

struct Counter {
  Fiber fiber;
  std::vector<double> seen;
  int turns = 0;
};

/// Numbers in registers and on the stack outlive a yield.
void count(void *argument) {
  auto *self = static_cast<Counter *>(argument);
  double halves = 0.5;
  int turns[64] = {};
  for (int i = 0; i < self->turns; ++i) {
    turns[i % 64] = i;
    halves += 1;
    self->seen.push_back(halves + turns[i % 64] - i);
    self->fiber.yield();
  }
}

} // namespace

TEST(Fiber, GoesOnWhereItStopped) {
  Counter counter;
  counter.turns = 3;
  ASSERT_TRUE(counter.fiber.start(count, &counter));
  EXPECT_TRUE(counter.seen.empty());
  for (int i = 0; i < 3; ++i)
    counter.fiber.resume();
  EXPECT_FALSE(counter.fiber.isDone());
  counter.fiber.resume();
  EXPECT_TRUE(counter.fiber.isDone());
  EXPECT_EQ(counter.seen, (std::vector<double>{1.5, 2.5, 3.5}));
}

TEST(Fiber, RunsBesideOthers) {
  std::vector<Counter> counters(300);
  for (size_t i = 0; i < counters.size(); ++i) {
    counters[i].turns = int(i % 5);
    ASSERT_TRUE(counters[i].fiber.start(count, &counters[i]));
  }
  for (int turn = 0; turn < 5; ++turn)
    for (Counter &counter : counters)
      if (!counter.fiber.isDone())
        counter.fiber.resume();
  for (size_t i = 0; i < counters.size(); ++i) {
    EXPECT_TRUE(counters[i].fiber.isDone());
    EXPECT_EQ(counters[i].seen.size(), i % 5);
  }
}

TEST(Fiber, BeginsAgainThoughItNeverEnded) {
  Counter counter;
  counter.turns = 2;
  for (int times = 0; times < 3; ++times) {
    ASSERT_TRUE(counter.fiber.start(count, &counter));
    counter.fiber.resume();
  }
  EXPECT_EQ(counter.seen, (std::vector<double>{1.5, 1.5, 1.5}));
}
