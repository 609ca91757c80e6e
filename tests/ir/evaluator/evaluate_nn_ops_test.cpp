// Known values of convolutions, pools, losses and metrics.

#include "tests/ir/graphs.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

using Doubles = std::vector<double>;
using Integers = std::vector<int64_t>;

static HostTensor counting(std::vector<int64_t> shape) {
  HostTensor tensor = zeros(shape);
  for (size_t i = 0; i < tensor.floats.size(); ++i)
    tensor.floats[i] = i + 1;
  return tensor;
}

//===-- convolution -------------------------------------------------------===//

// The window is not mirrored: 1*1 + 2*2 + 4*3 + 5*4.
TEST(Evaluate, ConvolutionIsCrossCorrelation) {
  auto y = evaluate("%x: tensor<1x1x3x3xf32>, %w: tensor<1x1x2x2xf32>",
                    "%y = gradus.convolution %x, %w strides [1, 1] pads [0, 0] "
                    "to [0, 0] dilations [1, 1] : tensor<1x1x3x3xf32>, "
                    "tensor<1x1x2x2xf32> -> tensor<1x1x2x2xf32>",
                    {counting({1, 1, 3, 3}), counting({1, 1, 2, 2})});
  EXPECT_EQ(y[0].floats, (Doubles{37, 47, 67, 77}));
}

TEST(Evaluate, ConvolutionPadsStridesAndDilates) {
  auto y = evaluate(
      "%x: tensor<1x1x5xf32>, %w: tensor<1x1x2xf32>",
      "%y = gradus.convolution %x, %w strides [2] pads [1] to [2] dilations "
      "[3] : tensor<1x1x5xf32>, tensor<1x1x2xf32> -> tensor<1x1x3xf32>",
      {counting({1, 1, 5}), floats({1, 1, 2}, {1, 10})});
  // Windows at (-1, 2), (1, 4) and (3, 6); -1 and 6 lie in the padding.
  EXPECT_EQ(y[0].floats, (Doubles{30, 52, 4}));
}

TEST(Evaluate, ConvolutionOfNoChannelsIsZero) {
  auto y = evaluate(
      "%x: tensor<1x0x3xf32>, %w: tensor<2x0x2xf32>",
      "%y = gradus.convolution %x, %w strides [1] pads [0] to [0] dilations "
      "[1] : tensor<1x0x3xf32>, tensor<2x0x2xf32> -> tensor<1x2x2xf32>",
      {zeros({1, 0, 3}), zeros({2, 0, 2})});
  EXPECT_EQ(y[0].floats, (Doubles{0, 0, 0, 0}));
}

// Rows and columns differ in stride, padding and dilation.
TEST(Evaluate, ConvolutionInTwoDimensionsIsThatOfALoop) {
  HostTensor x = counting({1, 2, 5, 6}), w = counting({1, 2, 2, 3});
  auto y = evaluate("%x: tensor<1x2x5x6xf32>, %w: tensor<1x2x2x3xf32>",
                    "%y = gradus.convolution %x, %w strides [2, 1] pads [1, 2] "
                    "to [2, 1] dilations [3, 2] : tensor<1x2x5x6xf32>, "
                    "tensor<1x2x2x3xf32> -> tensor<1x1x3x5xf32>",
                    {x, w});
  Doubles expected;
  for (int row = 0; row < 3; ++row)
    for (int column = 0; column < 5; ++column) {
      double sum = 0;
      for (int tap = 0; tap < 12; ++tap) { // [channel, row, column]
        int i = row * 2 - 1 + tap / 3 % 2 * 3, j = column - 2 + tap % 3 * 2;
        if (i >= 0 && i < 5 && j >= 0 && j < 6)
          sum += x.floats[(tap / 6 * 5 + i) * 6 + j] * w.floats[tap];
      }
      expected.push_back(sum);
    }
  EXPECT_EQ(y[0].floats, expected);
}

TEST(Evaluate, ConvolutionKeepsGroupsApart) {
  auto y = evaluate("%x: tensor<1x2x1xf32>, %w: tensor<4x1x1xf32>",
                    "%y = gradus.convolution %x, %w strides [1] pads [0] to "
                    "[0] dilations [1] groups 2 : tensor<1x2x1xf32>, "
                    "tensor<4x1x1xf32> -> tensor<1x4x1xf32>",
                    {floats({1, 2, 1}, {1, 10}), counting({4, 1, 1})});
  EXPECT_EQ(y[0].floats, (Doubles{1, 2, 30, 40}));
}

TEST(Evaluate, BackwardDataSumsOverTheWindowsOfAnElement) {
  auto x = evaluate("%g: tensor<1x1x2xf32>, %w: tensor<1x1x2xf32>",
                    "%x = gradus.convolution_backward_data %g, %w strides [1] "
                    "pads [0] to [0] dilations [1] : tensor<1x1x2xf32>, "
                    "tensor<1x1x2xf32> -> tensor<1x1x3xf32>",
                    {floats({1, 1, 2}, {1, 2}), floats({1, 1, 2}, {3, 4})});
  EXPECT_EQ(x[0].floats, (Doubles{3, 10, 8}));
}

TEST(Evaluate, BackwardWeightsSumsOverThePlacesOfAWindow) {
  auto w = evaluate("%x: tensor<1x1x3xf32>, %g: tensor<1x1x2xf32>",
                    "%w = gradus.convolution_backward_weights %x, %g strides "
                    "[1] pads [0] to [0] dilations [1] : tensor<1x1x3xf32>, "
                    "tensor<1x1x2xf32> -> tensor<1x1x2xf32>",
                    {counting({1, 1, 3}), floats({1, 1, 2}, {3, 4})});
  EXPECT_EQ(w[0].floats, (Doubles{11, 18}));
}

//===-- pooling -----------------------------------------------------------===//

TEST(Evaluate, MaxPoolTellsWhereTheLargestStands) {
  auto y =
      evaluate("%x: tensor<1x1x2x4xf32>",
               "%y, %i = gradus.max_pool %x window [2, 2] strides [2, 2] pads "
               "[0, 0] to [0, 0] dilations [1, 1] : tensor<1x1x2x4xf32> -> "
               "tensor<1x1x1x2xf32>, tensor<1x1x1x2xi32>",
               {floats({1, 1, 2, 4}, {1, 2, 7, 7, 4, 3, 5, 7})});
  EXPECT_EQ(y[0].floats, (Doubles{4, 7}));
  // Of equal elements the first wins.
  EXPECT_EQ(y[1].integers, (Integers{2, 0}));
}

TEST(Evaluate, PaddingNeverWins) {
  auto y = evaluate("%x: tensor<1x1x2xf32>",
                    "%y, %i = gradus.max_pool %x window [2] strides [2] pads "
                    "[1] to [1] dilations [1] : tensor<1x1x2xf32> -> "
                    "tensor<1x1x2xf32>, tensor<1x1x2xi32>",
                    {floats({1, 1, 2}, {-5, -6})});
  EXPECT_EQ(y[0].floats, (Doubles{-5, -6}));
  EXPECT_EQ(y[1].integers, (Integers{1, 0}));
}

TEST(Evaluate, MaxPoolBackwardSendsTheGradientToTheWinner) {
  auto x = evaluate("%g: tensor<1x1x2xf32>, %i: tensor<1x1x2xi32>",
                    "%x = gradus.max_pool_backward %g, %i window [2] strides "
                    "[1] pads [0] to [0] dilations [1] : tensor<1x1x2xf32>, "
                    "tensor<1x1x2xi32> -> tensor<1x1x3xf32>",
                    {floats({1, 1, 2}, {3, 4}), integers({1, 1, 2}, {1, 0})});
  EXPECT_EQ(x[0].floats, (Doubles{0, 7, 0}));
}

TEST(Evaluate, AveragePoolCountsThePaddingOnlyIfTold) {
  const std::string inputs = "%x: tensor<1x1x2xf32>";
  const std::string op = "%y = gradus.average_pool %x window [2] strides [2] "
                         "pads [1] to [1] dilations [1]";
  const std::string types = " : tensor<1x1x2xf32> -> tensor<1x1x2xf32>";
  HostTensor x = floats({1, 1, 2}, {3, 5});
  EXPECT_EQ(evaluate(inputs, op + types, {x})[0].floats, (Doubles{3, 5}));
  EXPECT_EQ(evaluate(inputs, op + " count_include_pad" + types, {x})[0].floats,
            (Doubles{1.5, 2.5}));
}

// The elements under all windows together would take 125 MB if they were kept.
TEST(Evaluate, MaxPoolWithALargeWindowKeepsNoElements) {
  auto y = evaluate("%x: tensor<1x1x61x61xf32>",
                    "%y, %i = gradus.max_pool %x window [61, 61] strides "
                    "[1, 1] pads [30, 30] to [30, 30] dilations [1, 1] : "
                    "tensor<1x1x61x61xf32> -> tensor<1x1x61x61xf32>, "
                    "tensor<1x1x61x61xi32>",
                    {counting({1, 1, 61, 61})});
  // The first window ends at row and column 30, where the last one starts.
  EXPECT_EQ(y[0].floats.front(), 30 * 61 + 30 + 1);
  EXPECT_EQ(y[1].integers.front(), 60 * 61 + 60);
  EXPECT_EQ(y[0].floats.back(), 61 * 61);
  EXPECT_EQ(y[1].integers.back(), 30 * 61 + 30);
}

//===-- losses and metrics ------------------------------------------------===//

static double crossEntropy(const std::string &attributes, Integers labels) {
  return evaluate(
             "%x: tensor<2x3xf64>, %l: tensor<2xi64>",
             "%y = gradus.softmax_cross_entropy %x, %l axis 1 " + attributes +
                 " : tensor<2x3xf64>, tensor<2xi64> -> tensor<f64>",
             {floats({2, 3}, {1, 2, 3, 1, 2, 3}), integers({2}, labels)})[0]
      .floats[0];
}

// log(e + e^2 + e^3) = 3.4076059644443806; the label's logit is taken off.
TEST(Evaluate, CrossEntropyIsThatOfPyTorch) {
  EXPECT_NEAR(crossEntropy("", {2, 0}), 1.4076059644443806, 1e-14);
  EXPECT_NEAR(crossEntropy("", {2, -100}), 0.4076059644443806, 1e-14);
  EXPECT_NEAR(crossEntropy("{ignore_index = 0 : i64}", {2, 0}),
              0.4076059644443806, 1e-14);
  EXPECT_NEAR(crossEntropy("{label_smoothing = 3.0e-1 : f64}", {2, 2}),
              0.7076059644443804, 1e-14);
  EXPECT_TRUE(std::isnan(crossEntropy("", {-100, -100})));
}

TEST(Evaluate, CrossEntropyOfLargeLogitsIsFinite) {
  auto y = evaluate("%x: tensor<1x2xf64>, %l: tensor<1xi64>",
                    "%y = gradus.softmax_cross_entropy %x, %l axis 1 : "
                    "tensor<1x2xf64>, tensor<1xi64> -> tensor<f64>",
                    {floats({1, 2}, {1000, 0}), integers({1}, {1})});
  EXPECT_EQ(y[0].floats[0], 1000);
}

TEST(Evaluate, RefusesALabelOutsideOfTheClasses) {
  std::string message;
  mlir::ScopedDiagnosticHandler handler(
      &context(), [&](mlir::Diagnostic &d) { message = d.str(); });
  auto module = parseGraph("%x: tensor<2x3xf64>, %l: tensor<2xi64>",
                           "%y = gradus.accuracy %x, %l axis 1 : "
                           "tensor<2x3xf64>, tensor<2xi64> -> tensor<f64>");
  EXPECT_TRUE(failed(evaluateOp(lastOp(graphOf(*module)),
                                {zeros({2, 3}), integers({2}, {0, 3})})));
  EXPECT_EQ(message, "'gradus.accuracy' op has label 3, expected 0 to 2 or "
                     "ignore_index -100");
}

TEST(Evaluate, AccuracyCountsTheFirstLargestLogit) {
  auto y = evaluate("%x: tensor<4x2xf32>, %l: tensor<4xi32>",
                    "%y = gradus.accuracy %x, %l axis 1 : tensor<4x2xf32>, "
                    "tensor<4xi32> -> tensor<f32>",
                    {floats({4, 2}, {1, 1, 1, 1, 0, 3, 3, 0}),
                     integers({4}, {0, 1, 1, -100})});
  EXPECT_NEAR(y[0].floats[0], 2.0 / 3, 1e-15);
}

TEST(Evaluate, MeanSquaredErrorIsTheMeanOfAllElements) {
  auto y =
      evaluate("%p: tensor<2x2xf32>, %t: tensor<2x2xf32>",
               "%y = gradus.mean_squared_error %p, %t : tensor<2x2xf32>, "
               "tensor<2x2xf32> -> tensor<f32>",
               {floats({2, 2}, {1, 2, 3, 4}), floats({2, 2}, {1, 0, 3, 1})});
  EXPECT_EQ(y[0].floats[0], 13.0 / 4);
}
