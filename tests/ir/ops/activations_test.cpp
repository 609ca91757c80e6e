// Known values of activations with parameters; their gradients are rows of
// gradients_test.cpp.

#include "tests/ir/graphs.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

using Doubles = std::vector<double>;

TEST(Activations, ClipKeepsWhatLiesBetween) {
  auto y = evaluate("%x: tensor<4xf32>",
                    "%y = gradus.clip %x from -1.0 to 6.0 : tensor<4xf32>",
                    {floats({4}, {-2, -1, 3, 7})});
  EXPECT_EQ(y[0].floats, (Doubles{-1, -1, 3, 6}));
}

TEST(Activations, ClipKeepsNaN) {
  auto y = evaluate("%x: tensor<1xf32>",
                    "%y = gradus.clip %x from -1.0 to 6.0 : tensor<1xf32>",
                    {floats({1}, {std::nan("")})});
  EXPECT_TRUE(std::isnan(y[0].floats[0]));
}

TEST(Activations, LeakyReluLeaksWhatIsNegative) {
  auto y = evaluate("%x: tensor<3xf32>",
                    "%y = gradus.leaky_relu %x slope 0.25 : tensor<3xf32>",
                    {floats({3}, {-2, 0, 3})});
  EXPECT_EQ(y[0].floats, (Doubles{-0.5, 0, 3}));
}
