// Kernels and their launches compute what the graphs compute, whatever the
// grouping; rows are run last to first, so none may lean on another.

#include "tests/codegen/example_models.h"
#include "tests/codegen/plan/plan_check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

std::string pipeline(const std::string &options) {
  return "lower-to-nests,fuse,form-kernels{" + options + "}";
}

const std::string oneKernel = pipeline(""),
                  manyKernels = pipeline("tiny-work=0"),
                  noSmallOnes = pipeline("tiny-work=0 small-work=0");

int launches(PlanCheck &check, const char *graph) {
  return count<plan::LaunchOp>(check.graph(graph));
}

TEST(FormKernels, MakeATinyStepOneKernel) {
  PlanCheck check(mlp(sgd), oneKernel);
  check.expectSame();
  EXPECT_EQ(launches(check, "train"), 1);
  EXPECT_EQ(launches(check, "predict"), 1);
}

/// Checks that what is written to each state may lie where it was read.
void expectUpdatesInPlace(GraphOp graph) {
  graph.walk([](WriteOp write) {
    auto launch = write.getValue().getDefiningOp<plan::LaunchOp>();
    ASSERT_TRUE(launch);
    unsigned result =
        mlir::cast<mlir::OpResult>(write.getValue()).getResultNumber();
    int64_t operand = launch.getInplace()[result];
    ASSERT_GE(operand, 0) << write.getState().str();
    auto read = launch.getOperands()[operand].getDefiningOp<ReadOp>();
    ASSERT_TRUE(read);
    EXPECT_EQ(read.getState(), write.getState());
  });
}

TEST(FormKernels, LetStatesBeUpdatedInPlace) {
  PlanCheck one(mlp(adamw), oneKernel), many(mlp(adamw), manyKernels);
  expectUpdatesInPlace(one.graph("train"));
  expectUpdatesInPlace(many.graph("train"));
}

TEST(FormKernels, KeepStepsOfManyKernels) {
  for (const std::string &passes : {oneKernel, manyKernels, noSmallOnes})
    for (const std::string &model :
         {mlp(sgd), mlp(adamw), lenet(sgd), lenet(adamw)})
      PlanCheck(model, passes).expectSame();
}

TEST(FormKernels, UpdateAllParametersByOneLaunch) {
  PlanCheck check(lenet(adamw), noSmallOnes);
  int updates = 0;
  check.graph("train").walk([&](plan::LaunchOp launch) {
    if (launch.getLabel() == "adamw x5")
      updates += launch.getItems().size();
  });
  EXPECT_EQ(updates, 5);
}

TEST(FormKernels, UpdateInSeveralLaunchesWhereGradientsAreLarge) {
  PlanCheck check(lenet(adamw),
                  pipeline("tiny-work=0 small-work=0 freed-bytes=400"));
  check.expectSame();
  int updates = 0, launches = 0;
  check.graph("train").walk([&](plan::LaunchOp launch) {
    if (!launch.getLabel()->starts_with("adamw"))
      return;
    updates += launch.getItems().size();
    ++launches;
  });
  EXPECT_EQ(updates, 5); // as in one launch
  EXPECT_EQ(launches, 2);
}

TEST(FormKernels, KeepEqualKernelsOnce) {
  PlanCheck check(lenet(sgd), noSmallOnes);
  int kernels = 0, launched = 0;
  for (plan::KernelOp kernel :
       check.program().getBody().getOps<plan::KernelOp>())
    kernels += bool(kernel);
  check.program().walk([&](plan::LaunchOp) { ++launched; });
  EXPECT_LT(kernels,
            launched); // Training, evaluation and prediction share them.
}

/// A softmax of few rows is a kernel for many of a device's processors where
/// each of its nests has one.
TEST(FormKernels, KeepNestsOfFewLongRowsApart) {
  auto softmax = [](int64_t rows, int64_t columns) {
    std::string type = "tensor<" + std::to_string(rows) + "x" +
                       std::to_string(columns) + "xf32>";
    return graphProgram("%x: " + type + ") -> (y: " + type,
                        "%0 = gradus.softmax %x axis 1 : " + type +
                            "\ngradus.return %0 : " + type);
  };
  std::string few = pipeline("tiny-work=0 small-work=0 least-rows=4");
  PlanCheck together(softmax(3, 4000), noSmallOnes),
      apart(softmax(3, 4000), few), many(softmax(4, 4000), few),
      isShort(softmax(3, 40), few);
  apart.expectSame();
  EXPECT_EQ(launches(together, "g"), 1);
  EXPECT_GT(launches(apart, "g"), 1);
  EXPECT_EQ(launches(many, "g"), 1);
  EXPECT_EQ(launches(isShort, "g"), 1);
}

TEST(FormKernels, EndAKernelThatHasManyNests) {
  for (std::string options : {"most-nests=3", "tiny-work=0 most-nests=3"}) {
    PlanCheck check(lenet(adamw), pipeline(options));
    check.expectSame();
    for (plan::KernelOp kernel :
         check.program().getBody().getOps<plan::KernelOp>())
      EXPECT_LE(std::distance(kernel.getBody().getOps<plan::NestOp>().begin(),
                              kernel.getBody().getOps<plan::NestOp>().end()),
                3);
  }
}

TEST(FormKernels, SeeAReshapeOfAnInnerValue) {
  PlanCheck check(
      graphProgram(
          "%x: tensor<2x3x4xf32>) -> (y: tensor<2x6xf32>",
          "%0 = gradus.reduce sum %x axes [2] : tensor<2x3x4xf32> -> "
          "tensor<2x3xf32>\n"
          "%1 = gradus.reshape %0 : tensor<2x3xf32> -> tensor<6xf32>\n"
          "%2 = gradus.reshape %0 : tensor<2x3xf32> -> tensor<3x2xf32>\n"
          "%3 = gradus.broadcast %1 dims [1] : tensor<6xf32> -> "
          "tensor<2x6xf32>\n"
          "%4 = gradus.reduce max %2 axes [0] : tensor<3x2xf32> -> "
          "tensor<2xf32>\n"
          "%5 = gradus.broadcast %4 dims [0] : tensor<2xf32> -> "
          "tensor<2x6xf32>\n"
          "%6 = arith.addf %3, %5 : tensor<2x6xf32>\n"
          "gradus.return %6 : tensor<2x6xf32>"),
      oneKernel);
  check.expectSame();
  EXPECT_EQ(launches(check, "g"), 1);
}

} // namespace
