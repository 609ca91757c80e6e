// Whatever the machine, its rates are ones that machines have.

#include "tool/inspect/machine_rates.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

TEST(MachineRates, AreThoseOfAMachine) {
  MachineRates rates = measureRates(1, 1 << 20);
  EXPECT_EQ(rates.threads, 1);
  EXPECT_GT(rates.flops, 1e8);
  EXPECT_LT(rates.flops, 1e13);
  EXPECT_GE(rates.pairFlops, 0);
  EXPECT_LT(rates.pairFlops, 1e14);
  EXPECT_GT(rates.bytes, 1e8);
  EXPECT_LT(rates.bytes, 1e13);
}

TEST(MachineRates, AreOfAllThreads) {
  EXPECT_EQ(measureRates(2, 0).threads, 2);
  EXPECT_EQ(measureRates(0, 0).threads, 1);
}
