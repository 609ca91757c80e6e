// Known values of the ops that take and put together parts.

#include "tests/ir/graphs.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

using Doubles = std::vector<double>;
using Integers = std::vector<int64_t>;

TEST(Evaluate, SliceStepsBackwards) {
  auto y = evaluate("%x: tensor<5xi64>",
                    "%y = gradus.slice %x starts [4] steps [-2] : "
                    "tensor<5xi64> -> tensor<3xi64>",
                    {integers({5}, {0, 1, 2, 3, 4})});
  EXPECT_EQ(y[0].integers, (Integers{4, 2, 0}));
}

TEST(Evaluate, PadPutsItsValueAroundAndBetween) {
  auto y = evaluate("%x: tensor<2xf32>",
                    "%y = gradus.pad %x low [1] high [2] interior [1] {value = "
                    "9.0 : f64} : tensor<2xf32> -> tensor<6xf32>",
                    {floats({2}, {1, 2})});
  EXPECT_EQ(y[0].floats, (Doubles{9, 1, 9, 2, 9, 9}));
}

TEST(Evaluate, ConcatenateKeepsTheOrder) {
  auto y = evaluate("%a: tensor<2x1xf32>, %b: tensor<2x2xf32>",
                    "%y = gradus.concatenate %a, %b axis 1 : tensor<2x1xf32>, "
                    "tensor<2x2xf32> -> tensor<2x3xf32>",
                    {floats({2, 1}, {1, 2}), floats({2, 2}, {3, 4, 5, 6})});
  EXPECT_EQ(y[0].floats, (Doubles{1, 3, 4, 2, 5, 6}));
}

TEST(Evaluate, GatherCountsFromTheEndAndSeesNothingOutside) {
  auto y = evaluate("%x: tensor<3xf32>, %i: tensor<4xi64>",
                    "%y = gradus.gather %x at %i axis 0 : tensor<3xf32>, "
                    "tensor<4xi64> -> tensor<4xf32>",
                    {floats({3}, {1, 2, 3}), integers({4}, {0, -1, 3, -4})});
  EXPECT_EQ(y[0].floats[0], 1);
  EXPECT_EQ(y[0].floats[1], 3);
  EXPECT_TRUE(std::isnan(y[0].floats[2]));
  EXPECT_TRUE(std::isnan(y[0].floats[3]));
}

TEST(Evaluate, ScatterAddSumsWhatMeets) {
  auto y = evaluate("%g: tensor<4xf32>, %i: tensor<4xi64>",
                    "%y = gradus.scatter_add %g at %i axis 0 : tensor<4xf32>, "
                    "tensor<4xi64> -> tensor<3xf32>",
                    {floats({4}, {1, 2, 4, 8}), integers({4}, {0, -3, 2, 3})});
  EXPECT_EQ(y[0].floats, (Doubles{3, 0, 4}));
}
