// Known values of softmax and layer normalization.

#include "tests/ir/graphs.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

TEST(Evaluate, SoftmaxOfEqualNumbersIsEven) {
  auto y = evaluate("%x: tensor<2x2xf64>",
                    "%y = gradus.softmax %x axis 0 : tensor<2x2xf64>",
                    {floats({2, 2}, {1, 0, 1, 0})});
  EXPECT_EQ(y[0].floats, (std::vector<double>{0.5, 0.5, 0.5, 0.5}));
}

TEST(Evaluate, SoftmaxLeavesOutMinusInfinityUnlessItIsAll) {
  const double no = -INFINITY;
  auto y = evaluate("%x: tensor<2x2xf64>",
                    "%y = gradus.softmax %x axis 1 : tensor<2x2xf64>",
                    {floats({2, 2}, {no, 3, no, no})});
  EXPECT_EQ(y[0].floats[0], 0);
  EXPECT_EQ(y[0].floats[1], 1);
  EXPECT_TRUE(std::isnan(y[0].floats[2]));
}

TEST(Evaluate, LogSoftmaxIsItsLogarithm) {
  auto y = evaluate("%x: tensor<2xf64>",
                    "%y = gradus.softmax log %x axis 0 : tensor<2xf64>",
                    {floats({2}, {1000, 1000})});
  EXPECT_NEAR(y[0].floats[0], -std::log(2), 1e-12);
}

TEST(Evaluate, LayerNormGivesMeanZeroAndDeviationOne) {
  auto y = evaluate(
      "%x: tensor<1x2xf64>, %s: tensor<2xf64>, %b: tensor<2xf64>",
      "%y = gradus.layer_norm %x, %s plus %b {epsilon = 0.0 : f64} : "
      "tensor<1x2xf64>, tensor<2xf64>, tensor<2xf64>",
      {floats({1, 2}, {3, 7}), floats({2}, {10, 10}), floats({2}, {0, 1})});
  EXPECT_EQ(y[0].floats, (std::vector<double>{-10, 11}));
}

TEST(Evaluate, RmsNormSubtractsNothing) {
  auto y = evaluate("%x: tensor<1x2xf64>, %s: tensor<2xf64>",
                    "%y = gradus.layer_norm rms %x, %s {epsilon = 0.0 : f64} : "
                    "tensor<1x2xf64>, tensor<2xf64>",
                    {floats({1, 2}, {5, 5}), floats({2}, {1, 2})});
  EXPECT_EQ(y[0].floats, (std::vector<double>{1, 2}));
}
