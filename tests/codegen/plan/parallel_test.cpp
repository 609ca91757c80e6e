#include "codegen/plan/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

using namespace gradus;

TEST(ParallelFor, DoesEachNumberOnce) {
  for (size_t count : {0, 1, 2, 1000}) {
    std::vector<std::atomic<int>> done(count);
    parallelFor(count, [&](size_t number) { ++done[number]; });
    for (size_t number = 0; number < count; ++number)
      EXPECT_EQ(done[number], 1) << number << " of " << count;
  }
}
