// Batch normalization: known values, gradients through the statistics, and what
// is refused.

#include "tests/ir/graphs.h"

#include "mlir/IR/Diagnostics.h"

#include <gmock/gmock.h>

using namespace mlir;
using namespace gradus;
using namespace gradus::testing;

using Doubles = std::vector<double>;

/// Two channels of two elements: 1, 3 and 10, 30.
static HostTensor twoChannels() { return floats({2, 2}, {1, 10, 3, 30}); }

TEST(BatchNorm, UsesTheStatisticsItIsGiven) {
  auto y = evaluate("%x: tensor<2x2xf32>, %s: tensor<2xf32>, %b: "
                    "tensor<2xf32>, %m: tensor<2xf32>, %v: tensor<2xf32>",
                    "%y = gradus.batch_norm %x, %s, %b mean %m variance %v "
                    "epsilon 0.0 : tensor<2x2xf32>, tensor<2xf32>",
                    {twoChannels(), floats({2}, {1, 2}), floats({2}, {0, 5}),
                     floats({2}, {1, 10}), floats({2}, {4, 100})});
  EXPECT_EQ(y[0].floats, (Doubles{0, 5, 1, 9}));
}

TEST(BatchNorm, TakesTheStatisticsOfTheBatch) {
  auto y = evaluate("%x: tensor<2x2xf32>, %s: tensor<2xf32>, %b: tensor<2xf32>",
                    "%y, %m, %v = gradus.batch_norm_training %x, %s, %b "
                    "epsilon 0.0 : tensor<2x2xf32>, tensor<2xf32>",
                    {twoChannels(), floats({2}, {1, 2}), floats({2}, {0, 5})});
  EXPECT_EQ(y[0].floats, (Doubles{-1, 3, 1, 7}));
  EXPECT_EQ(y[1].floats, (Doubles{2, 20}));
  // Divided by N, not by N - 1.
  EXPECT_EQ(y[2].floats, (Doubles{1, 100}));
}

// A gradient that is the same everywhere only moves the mean, which the
// normalization takes away.
TEST(BatchNorm, PassesNoConstantGradient) {
  auto y = evaluate(
      "%g: tensor<2x2xf32>, %x: tensor<2x2xf32>, %s: tensor<2xf32>, %m: "
      "tensor<2xf32>, %v: tensor<2xf32>",
      "%y, %ds, %db = gradus.batch_norm_backward %g, %x, %s mean %m variance "
      "%v epsilon 0.0 : tensor<2x2xf32>, tensor<2xf32>",
      {floats({2, 2}, {1, 2, 1, 2}), twoChannels(), floats({2}, {1, 2}),
       floats({2}, {2, 20}), floats({2}, {1, 100})});
  EXPECT_EQ(y[0].floats, (Doubles{0, 0, 0, 0}));
  EXPECT_EQ(y[1].floats, (Doubles{0, 0}));
  EXPECT_EQ(y[2].floats, (Doubles{2, 4}));
}

// Mean and variance are results, which may have gradients of their own.
TEST(BatchNorm, DifferentiatesMeanAndVariance) {
  auto module =
      parseGraph("%x: tensor<2x2xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>, "
                 "%gm: tensor<2xf64>, %gv: tensor<2xf64>",
                 "%y, %m, %v = gradus.batch_norm_training %x, %s, %b epsilon "
                 "0.0 : tensor<2x2xf64>, tensor<2xf64>");
  GraphOp graph = graphOf(*module);
  auto op = cast<BatchNormTrainingOp>(lastOp(graph));
  OpBuilder builder(graph.getBody().front().getTerminator());
  Block &block = graph.getBody().front();
  auto gradients = op.pullback(
      builder, {Value(), block.getArgument(3), block.getArgument(4)});
  graph.addOutput("dx", gradients[0]);
  StateMap states;
  auto found =
      evaluateGraph(graph,
                    {twoChannels(), floats({2}, {1, 2}), floats({2}, {0, 5}),
                     floats({2}, {4, 0}), floats({2}, {1, 3})},
                    states);
  ASSERT_TRUE(succeeded(found));
  // g_mean / 2 + g_variance (x - mean)
  EXPECT_EQ((*found)[0].floats, (Doubles{2 - 1, -30, 2 + 1, 30}));
}

static std::string refusal(const std::string &inputs,
                           const std::string &statement) {
  std::string words;
  ScopedDiagnosticHandler handler(&context(), [&](Diagnostic &diagnostic) {
    words += diagnostic.str();
    return success();
  });
  parse("gradus.program @test {\n gradus.graph @test(" + inputs + ") {\n" +
        statement + "\n gradus.return\n }\n}");
  return words;
}

TEST(BatchNorm, RefusesWhatIsNoChannel) {
  EXPECT_THAT(
      refusal("%x: tensor<2x3x4xf32>, %s: tensor<4xf32>",
              "%y, %m, %v = gradus.batch_norm_training %x, %s, %s epsilon 0.0 "
              ": tensor<2x3x4xf32>, tensor<4xf32>"),
      ::testing::HasSubstr("has a scale of type 'tensor<4xf32>', expected one "
                           "element for each of the 3 channels of "
                           "'tensor<2x3x4xf32>'"));
  EXPECT_THAT(refusal("%x: tensor<3xf32>, %s: tensor<3xf32>",
                      "%y, %m, %v = gradus.batch_norm_training %x, %s, %s "
                      "epsilon 0.0 : tensor<3xf32>, tensor<3xf32>"),
              ::testing::HasSubstr(
                  "expected an input [N, C, ...], found 'tensor<3xf32>'"));
  EXPECT_THAT(
      refusal("%x: tensor<2x3xf32>, %s: tensor<3xf32>",
              "%y, %m, %v = gradus.batch_norm_training %x, %s, %s epsilon -1.0 "
              ": tensor<2x3xf32>, tensor<3xf32>"),
      ::testing::HasSubstr("has epsilon -1.000000e+00, expected at least 0"));
  EXPECT_THAT(
      refusal("%x: tensor<2x3xf32>, %s: tensor<3xf32>",
              "%y = gradus.batch_norm %x, %s, %s mean %s variance %s epsilon "
              "0.0 momentum 2.0 : tensor<2x3xf32>, tensor<3xf32>"),
      ::testing::HasSubstr("has momentum 2.000000e+00, expected 0 to 1"));
}
