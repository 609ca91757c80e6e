#include "tool/bench/sum_rate.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

/// No machine adds a terabyte a second, or takes a second for 16 numbers.
TEST(SumRate, IsThatOfSomeMachine) {
  SumRate rate = measureSumRate();
  EXPECT_GE(rate.seconds, 0);
  EXPECT_LT(rate.seconds, 1);
  EXPECT_GT(rate.bytesPerSecond, 0);
  EXPECT_LT(rate.bytesPerSecond, 1e12);
}
