// Batch normalization as nests, for images of every rank.

#include "tests/codegen/plan_check.h"

using gradus::testing::graphProgram;
using gradus::testing::PlanCheck;

namespace {

class BatchNorm : public ::testing::TestWithParam<const char *> {};

} // namespace

TEST_P(BatchNorm, KeepsWhatItComputes) {
  std::string x = std::string("tensor<") + GetParam() + "xf32>",
              types = " : " + x + ", tensor<3xf32>";
  std::string signature =
      "%x: " + x + ", %dy: " + x +
      ", %scale: tensor<3xf32>, %bias: tensor<3xf32>) -> (y: " + x +
      ", mean: tensor<3xf32>, variance: tensor<3xf32>, dx: " + x +
      ", dscale: tensor<3xf32>, dbias: tensor<3xf32>, z: " + x;
  std::string body =
      "%y, %mean, %variance = gradus.batch_norm_training %x, %scale, %bias "
      "epsilon 0.01" +
      types +
      "\n%dx, %dscale, %dbias = gradus.batch_norm_backward %dy, %x, %scale mean "
      "%mean variance %variance epsilon 0.01" +
      types +
      "\n%z = gradus.batch_norm %x, %bias, %scale mean %mean variance %variance "
      "epsilon 0.1" +
      types +
      "\ngradus.return %y, %mean, %variance, %dx, %dscale, %dbias, %z : " + x +
      ", tensor<3xf32>, tensor<3xf32>, " + x +
      ", tensor<3xf32>, tensor<3xf32>, " + x;
  PlanCheck(graphProgram(signature, body), "lower-to-nests").expectSame();
}

INSTANTIATE_TEST_SUITE_P(Images, BatchNorm,
                         ::testing::Values("7x3", "2x3x5", "2x3x4x5",
                                           "1x3x2x3x4"));
