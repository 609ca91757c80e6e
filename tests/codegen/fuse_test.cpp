// Fusion keeps what graphs compute and leaves few nests.

#include "tests/codegen/example_models.h"
#include "tests/codegen/plan_check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

const char *fused = "lower-to-nests,fuse";

TEST(Fuse, KeepsATrainingStepOfDenseLayers) {
  PlanCheck check(mlp(sgd), fused);
  check.expectSame();
  // Two layers, five of softmax cross entropy and loss, two weight and two
  // bias gradients, one data gradient, four updates and the step.
  EXPECT_LE(count<plan::NestOp>(check.graph("train")), 20);
}

TEST(Fuse, KeepsATrainingStepWithAdamw) {
  PlanCheck(mlp(adamw), fused).expectSame();
}

TEST(Fuse, KeepsATrainingStepOfConvolutions) {
  PlanCheck(lenet(sgd), fused).expectSame();
}

TEST(Fuse, IsContentToRunTwice) {
  PlanCheck once(lenet(sgd), fused),
      twice(lenet(sgd), "lower-to-nests,fuse,fuse");
  twice.expectSame();
  EXPECT_EQ(count<plan::NestOp>(once.graph("train")),
            count<plan::NestOp>(twice.graph("train")));
}

TEST(Fuse, ReadsThroughAReshapeWithoutDivision) {
  PlanCheck check(
      graphProgram(
          "%x: tensor<2x12xf32>) -> (y: tensor<2x3x4xf32>",
          "%0 = gradus.reshape %x : tensor<2x12xf32> -> tensor<2x3x4xf32>\n"
          "%1 = math.exp %0 : tensor<2x3x4xf32>\n"
          "gradus.return %1 : tensor<2x3x4xf32>"),
      fused);
  check.expectSame();
  EXPECT_EQ(count<ReshapeOp>(check.graph("g")), 0);
}

TEST(Fuse, ComputesExpOnceForTwoReaders) {
  PlanCheck check(
      graphProgram(
          "%x: tensor<3x4xf32>) -> (y: tensor<3xf32>, z: tensor<4xf32>",
          "%0 = math.exp %x : tensor<3x4xf32>\n"
          "%1 = gradus.reduce sum %0 axes [1] : tensor<3x4xf32> -> "
          "tensor<3xf32>\n"
          "%2 = gradus.reduce sum %0 axes [0] : tensor<3x4xf32> -> "
          "tensor<4xf32>\n"
          "gradus.return %1, %2 : tensor<3xf32>, tensor<4xf32>"),
      fused);
  check.expectSame();
  EXPECT_EQ(count<mlir::math::ExpOp>(check.graph("g")), 1);
}

} // namespace
