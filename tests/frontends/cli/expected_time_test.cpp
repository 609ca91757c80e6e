// A roofline: the longer of computing and moving.

#include "frontends/cli/expected_time.h"
#include "tests/frontends/cli/adder.h"

#include <gtest/gtest.h>

using namespace gradus::cli;

/// The adder's command, which claims so many FLOPs and bytes.
static double expected(uint64_t flops, uint64_t bytes, MachineRates rates) {
  gradus::test::TestArtifact artifact;
  artifact.command(0).flops = flops;
  artifact.command(0).bytes = bytes;
  Adder adder(std::move(artifact));
  auto session = adder.open();
  return expectedSeconds(*session->plan().graphs()->Get(0)->commands()->Get(0),
                         rates);
}

TEST(ExpectedTime, IsTheLongerOfFlopsAndBytes) {
  MachineRates rates{1, 1e9, 1e9};
  EXPECT_NEAR(expected(0, 1'000'000, rates), 1e-3, 1e-9);
  // Our own kernels reach 40 % of the rate.
  EXPECT_NEAR(expected(1'000'000, 1'000'000, rates), 2.5e-3, 1e-9);
}

TEST(ExpectedTime, SaysHowItIsMade) {
  std::string text = expectationText({2, 500e9, 30e9});
  EXPECT_NE(text.find("500 GFLOP/s"), std::string::npos);
  EXPECT_NE(text.find("30 GB/s"), std::string::npos);
  EXPECT_NE(text.find("2 threads"), std::string::npos);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}
