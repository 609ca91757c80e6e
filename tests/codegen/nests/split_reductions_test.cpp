// Long sums over samples become parts and their total, with the same result.

#include "tests/codegen/example_models.h"
#include "tests/codegen/plan/plan_check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

const char *split = "lower-to-nests,fuse,split-reductions";

/// The gradient of a convolution's weights over a batch.
std::string weightGradient(const std::string &batch) {
  return graphProgram(
      "%x: tensor<" + batch + "x2x14x14xf32>, %g: tensor<" + batch +
          "x3x10x10xf32>) -> (y: tensor<3x2x5x5xf32>, b: tensor<3xf32>",
      "%0 = gradus.convolution_backward_weights %x, %g strides [1, 1] "
      "pads [0, 0] to [0, 0] dilations [1, 1] : tensor<" +
          batch + "x2x14x14xf32>, tensor<" + batch +
          "x3x10x10xf32> -> tensor<3x2x5x5xf32>\n"
          "%1 = gradus.reduce sum %g axes [0, 2, 3] : tensor<" +
          batch +
          "x3x10x10xf32> -> tensor<3xf32>\n"
          "gradus.return %0, %1 : tensor<3x2x5x5xf32>, tensor<3xf32>");
}

int64_t partsIn(PlanCheck &check) {
  int64_t parts = 1;
  check.graph("g").walk([&](plan::NestOp nest) {
    if (nest.getParallel().size() == 5)
      parts = nest.getParallel()[0];
  });
  return parts;
}

TEST(SplitReductions, CutsTheGradientOfAConvolutionsWeights) {
  for (auto [batch, parts] : {std::pair("32", 8), {"12", 3}, {"48", 12}}) {
    PlanCheck check(weightGradient(batch), split);
    check.expectSame();
    EXPECT_EQ(partsIn(check), parts) << "batch " << batch;
  }
}

TEST(SplitReductions, MakesNoMorePartsThanTheDeviceWants) {
  for (auto [options, parts] :
       {std::pair("most-parts=4", 4), {"least-work=1000000000", 1}}) {
    PlanCheck check(weightGradient("32"),
                    std::string(split) + "{" + options + "}");
    check.expectSame();
    EXPECT_EQ(partsIn(check), parts) << options;
  }
}

/// Sums of images whose channels come last, for a device that wants many parts:
/// of 8 images and of lines of pixels, each of which a few points are left of.
TEST(SplitReductions, CutsRowsToo) {
  for (auto [options, parallel] :
       {std::pair("most-parts=512", std::vector<int64_t>{2, 16}),
        {"most-parts=512 most-points=1000000", {2, 28, 16}},
        {"most-parts=512 most-points=256", {2, 7, 16}},
        {"most-parts=512 most-points=32", {2, 16}},
        {"most-parts=512 most-points=16", {16}}}) {
    PlanCheck check(
        graphProgram("%x: tensor<8x28x28x16xf32>) -> (y: tensor<16xf32>",
                     "%0 = gradus.reduce sum %x axes [0, 1, 2] : "
                     "tensor<8x28x28x16xf32> -> tensor<16xf32>\n"
                     "gradus.return %0 : tensor<16xf32>"),
        std::string(split) + "{" + options + "}");
    check.expectSame();
    plan::NestOp first = *check.graph("g").getOps<plan::NestOp>().begin();
    EXPECT_EQ(first.getParallel(), llvm::ArrayRef(parallel)) << options;
  }
}

TEST(SplitReductions, LeavesWhatHasNoEqualParts) {
  for (const char *batch : {"7", "13", "31"}) {
    PlanCheck check(weightGradient(batch), split);
    EXPECT_EQ(partsIn(check), 1) << "batch " << batch;
  }
}

TEST(SplitReductions, KeepsWhatStandsBehindTheReductionAndIndices) {
  PlanCheck check(
      graphProgram(
          "%x: tensor<16x8192xf32>, %b: tensor<f32>) -> (y: tensor<f32>",
          "%0 = math.exp %x : tensor<16x8192xf32>\n"
          "%1 = gradus.iota axis 0 : tensor<16x8192xi64>\n"
          "%2 = arith.sitofp %1 : tensor<16x8192xi64> to tensor<16x8192xf32>\n"
          "%3 = arith.mulf %0, %2 : tensor<16x8192xf32>\n"
          "%4 = gradus.reduce sum %3 axes [0, 1] : tensor<16x8192xf32> -> "
          "tensor<f32>\n"
          "%5 = arith.addf %4, %b : tensor<f32>\n"
          "gradus.return %5 : tensor<f32>"),
      split);
  check.expectSame();
  EXPECT_EQ(count<plan::NestOp>(check.graph("g")), 2);
}

TEST(SplitReductions, IsContentToRunTwice) {
  std::string twice = std::string(split) + ",split-reductions";
  PlanCheck once(weightGradient("64"), split),
      again(weightGradient("64"), twice.c_str());
  again.expectSame();
  EXPECT_EQ(count<plan::NestOp>(once.graph("g")),
            count<plan::NestOp>(again.graph("g")));
}

TEST(SplitReductions, LeavesSmallSumsAlone) {
  PlanCheck check(mlp(sgd), split);
  PlanCheck without(mlp(sgd), "lower-to-nests,fuse");
  EXPECT_EQ(count<plan::NestOp>(check.graph("train")),
            count<plan::NestOp>(without.graph("train")));
}

/// 501 rows have three equal parts.
TEST(SplitReductions, LeavesNestsOfKernelsAlone) {
  PlanCheck check(
      graphProgram("%x: tensor<501x66xf32>) -> (y: tensor<1x66x66xf32>",
                   "%0 = gradus.gram %x axis 1 groups 1 block 66 : "
                   "tensor<501x66xf32> -> tensor<1x66x66xf32>\n"
                   "gradus.return %0 : tensor<1x66x66xf32>"),
      "lower-to-kernels,lower-to-nests,fuse,split-reductions");
  int64_t nests = 0;
  check.graph("g")->getParentOp()->walk([&](plan::KernelOp kernel) {
    kernel.walk([&](plan::NestOp nest) {
      ++nests;
      EXPECT_EQ(nest->getNumResults(), 0u);
    });
  });
  EXPECT_GT(nests, 0);
}

} // namespace
