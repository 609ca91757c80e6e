// Fusion keeps what graphs compute and leaves few nests.

#include "codegen/plan/nest_cost.h"
#include "tests/codegen/example_models.h"
#include "tests/codegen/plan/plan_check.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

const char *fused = "lower-to-nests,fuse";

TEST(Fuse, KeepsATrainingStepOfDenseLayers) {
  PlanCheck check(mlp(sgd), fused);
  check.expectSame();
  // Two layers, five of softmax cross entropy and loss, two weight and two
  // bias gradients, one data gradient, four updates, the step, and the learning
  // rate, which is rounded once for all updates.
  EXPECT_LE(count<plan::NestOp>(check.graph("train")), 22);
}

TEST(Fuse, KeepsATrainingStepWithAdamw) {
  PlanCheck(mlp(adamw), fused).expectSame();
}

TEST(Fuse, KeepsATrainingStepOfConvolutions) {
  PlanCheck(lenet(sgd), fused).expectSame();
}

// f64 terms of sums are made by the reductions: only vectors of them are
// stored.
TEST(Fuse, StoresNoWideNumbersForSums) {
  PlanCheck check(
      graphProgram("%x: tensor<4x3x5xf32>, %g: tensor<4x3x5xf32>, %s: "
                   "tensor<3xf32>) -> (y: tensor<4x3x5xf32>, dx: "
                   "tensor<4x3x5xf32>, ds: tensor<3xf32>",
                   "%y, %m, %v = gradus.batch_norm_training %x, %s, %s epsilon "
                   "0.01 : tensor<4x3x5xf32>, tensor<3xf32>\n"
                   "%h = math.tanh %g : tensor<4x3x5xf32>\n"
                   "%dx, %ds, %db = gradus.batch_norm_backward %h, %x, %s mean "
                   "%m variance %v epsilon 0.01 : tensor<4x3x5xf32>, "
                   "tensor<3xf32>\n"
                   "gradus.return %y, %dx, %ds : tensor<4x3x5xf32>, "
                   "tensor<4x3x5xf32>, tensor<3xf32>"),
      fused);
  check.expectSame();
  check.graph("g").walk([](plan::NestOp nest) {
    for (mlir::Type type : nest.getResultTypes())
      EXPECT_FALSE(mlir::getElementTypeOrSelf(type).isF64() &&
                   mlir::cast<mlir::ShapedType>(type).getRank() > 1);
  });
}

// The gradient of a normalization reads the input, of which it can tell what a
// clip behind the normalization let through.
TEST(Fuse, ComputesAgainWhatIsOfOtherReads) {
  const std::string x = "tensor<4x3x70xf32>", line = " : " + x + "\n",
                    b = " epsilon 0.01 : " + x + ", tensor<3xf32>\n";
  const std::string forward =
      "%n, %m, %v = gradus.batch_norm_training %x, %s, %s" + b +
      "%y = gradus.clip %n from 0.0 to 6.0" + line;
  const std::string loss =
      "%sum = gradus.reduce sum %y axes [0, 1, 2] : " + x +
      " -> tensor<f32>\n%t = gradus.broadcast %sum dims [] : tensor<f32> -> " +
      x + "\n";
  const std::string mask = "%0 = arith.constant dense<0.0>" + line +
                           "%6 = arith.constant dense<6.0>" + line +
                           "%above = arith.cmpf ogt, %y, %0" + line +
                           "%below = arith.cmpf olt, %y, %6" + line +
                           "%in = arith.andi %above, %below : "
                           "tensor<4x3x70xi1>\n%h = arith.select %in, %t, %0 : "
                           "tensor<4x3x70xi1>, " +
                           x + "\n";
  const std::string program = graphProgram(
      "%x: " + x + ", %s: tensor<3xf32>) -> (y: " + x + ", dx: " + x,
      forward + loss + mask +
          "%dx, %ds, %db = gradus.batch_norm_backward %h, %x, %s "
          "mean %m variance %v" +
          b + "gradus.return %y, %dx : " + x + ", " + x);
  auto largeReads = [&](const std::string &passes) { // of all nests
    PlanCheck check(program, passes);
    check.expectSame();
    int64_t large = 0;
    check.graph("g").walk([&](plan::NestOp nest) {
      for (mlir::Value operand : nest->getOperands())
        large += product(shapeOf(operand)) == 4 * 3 * 70;
    });
    return large;
  };
  // The mean and the squares, which are joined later, y, its sum, the sums of
  // the gradient, and the gradient: all but one of x.
  EXPECT_EQ(largeReads(fused), 6);
  EXPECT_GT(largeReads("lower-to-nests,fuse{work-again=0}"), 6);
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

/// y = x + tanh(x + tanh(... x)), so many times.
std::string chain(int length) {
  std::string body, last = "%x";
  for (int i = 0; i < length; ++i) {
    std::string n = std::to_string(i);
    body += "%s" + n + " = math.tanh " + last + " : tensor<4x8xf32>\n";
    body += "%v" + n + " = arith.addf %s" + n + ", %x : tensor<4x8xf32>\n";
    last = "%v" + n;
  }
  return body;
}

// A tanh and a sum are 21 adds of work, 24 of them 504.
TEST(Fuse, CutsLongChains) {
  PlanCheck check(
      graphProgram("%x: tensor<4x8xf32>) -> (y: tensor<4x8xf32>",
                   chain(60) + "gradus.return %v59 : tensor<4x8xf32>"),
      fused);
  check.expectSame();
  EXPECT_EQ(count<plan::NestOp>(check.graph("g")), 3);
  check.graph("g").walk(
      [](plan::NestOp nest) { EXPECT_LE(costOf(nest.getThen()).work, 512); });
}

TEST(Fuse, CutsLongChainsBeforeAReduction) {
  PlanCheck check(
      graphProgram("%x: tensor<4x8xf32>) -> (y: tensor<4xf32>",
                   chain(60) +
                       "%y = gradus.reduce sum %v59 axes [1] : tensor<4x8xf32> "
                       "-> tensor<4xf32>\n"
                       "gradus.return %y : tensor<4xf32>"),
      fused);
  check.expectSame();
  EXPECT_EQ(count<plan::NestOp>(check.graph("g")), 3);
  check.graph("g").walk(
      [](plan::NestOp nest) { EXPECT_LE(costOf(nest.getMap()).work, 512); });
}

// As the squares of all gradients' norms are added up.
TEST(Fuse, CutsSumsOfManyTensors) {
  std::string arguments = "%v0: tensor<4xf32>", body;
  for (int i = 1; i < 150; ++i) {
    std::string n = std::to_string(i), last = std::to_string(i - 1);
    arguments += ", %x" + n + ": tensor<4xf32>";
    body += "%v" + n + " = arith.addf %v" + last + ", %x" + n +
            " : tensor<4xf32>\n";
  }
  PlanCheck check(graphProgram(arguments + ") -> (y: tensor<4xf32>",
                               body + "gradus.return %v149 : tensor<4xf32>"),
                  fused);
  check.expectSame();
  EXPECT_EQ(count<plan::NestOp>(check.graph("g")), 3);
  check.graph("g").walk(
      [](plan::NestOp nest) { EXPECT_LE(nest->getNumOperands(), 64u); });
}

// Each of 64 values has two readers: there are 2^64 ways to the state.
TEST(Fuse, AsksOnceWhatFeedsStates) {
  std::string body = "%v0 = gradus.read @s : tensor<4xf32>\n";
  for (int i = 0; i < 64; ++i) {
    std::string n = std::to_string(i), next = std::to_string(i + 1);
    body += "%t" + n + " = math.tanh %v" + n + " : tensor<4xf32>\n%v" + next +
            " = arith.subf %v" + n + ", %t" + n + " : tensor<4xf32>\n";
  }
  PlanCheck check(
      "gradus.program @p {\ngradus.state @s : tensor<4xf32> {role = "
      "#gradus.role<buffer>, init = #gradus.init<zeros>}\n"
      "gradus.graph @g(%x: tensor<4xf32>) -> (y: tensor<4xf32>) {\n" +
          body +
          "gradus.write @s, %v64 : tensor<4xf32>\n"
          "gradus.return %x : tensor<4xf32>\n}\n}\n",
      fused);
  check.expectSame();
  EXPECT_EQ(count<plan::NestOp>(check.graph("g")), 3);
}

} // namespace
