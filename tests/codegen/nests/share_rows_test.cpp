// Sums over samples and what is normalized by them get the same rows.

#include "tests/codegen/plan/plan_check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

const std::string passes = "lower-to-nests,fuse,join-sums,split-reductions";

/// A normalization of images by their own statistics, or its gradient.
std::string normalization(const std::string &shape, const std::string &channels,
                          bool backward = false) {
  const std::string x = "tensor<" + shape + "xf32>",
                    c = "tensor<" + channels + "xf32>",
                    types = " epsilon 0.01 : " + x + ", " + c + "\n";
  return graphProgram(
      "%x: " + x + ", %g: " + x + ", %s: " + c + ", %m: " + c + ", %v: " + c +
          ") -> (y: " + x,
      (backward ? "%y, %a, %b = gradus.batch_norm_backward %g, %x, %s mean %m "
                  "variance %v"
                : "%y, %a, %b = gradus.batch_norm_training %x, %s, %s") +
          types + "gradus.return %y : " + x);
}

/// The number of elementwise nests whose rows are channels.
int nestsOfChannels(const std::string &program, int64_t channels,
                    const std::string &options = "") {
  PlanCheck check(program, passes + options);
  check.expectSame();
  int nests = 0;
  check.graph("g").walk([&](plan::NestOp nest) {
    nests += nest.isElementwise() && nest.getParallel().size() > 1 &&
             nest.getParallel()[0] == channels;
  });
  return nests;
}

TEST(ShareRows, RunsANormalizationOverTheRowsOfItsStatistics) {
  for (bool backward : {false, true}) {
    const std::string program = normalization("6x8x16x16", "8", backward);
    EXPECT_EQ(nestsOfChannels(program, 8), 1);
    PlanCheck formed(program,
                     passes + ",form-kernels{tiny-work=0 small-work=0}");
    auto kernels = formed.program().getBody().getOps<plan::KernelOp>();
    ASSERT_FALSE(kernels.empty());
    auto nests = (*kernels.begin()).getBody().getOps<plan::NestOp>();
    EXPECT_EQ(std::distance(nests.begin(), nests.end()), 2);
  }
}

TEST(ShareRows, NeedsRowsForThreadsAndPlacesOfSomeLength) {
  EXPECT_EQ(nestsOfChannels(normalization("8x7x32x32", "7"), 7), 0);
  EXPECT_EQ(nestsOfChannels(normalization("64x8x4x4", "8"), 8), 0);
}

TEST(ShareRows, LeavesRowsThatAreTooLong) {
  const std::string program = normalization("6x8x16x16", "8");
  EXPECT_EQ(nestsOfChannels(program, 8, "{most-row-bytes=4096}"), 0);
  EXPECT_EQ(nestsOfChannels(program, 8, "{most-row-bytes=0}"), 0);
}

// A matrix has columns for channels, of which no two elements are together.
TEST(ShareRows, LeavesTheColumnsOfMatricesAlone) {
  EXPECT_EQ(nestsOfChannels(normalization("4096x8", "8"), 8), 0);
}

} // namespace
