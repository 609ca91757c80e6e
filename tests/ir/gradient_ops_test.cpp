#include "ir/gradient_ops.h"

#include "graphs.h"

using namespace gradus::testing;

TEST(GradientOps, LeaveValuesAlone) {
  auto y =
      evaluate("%x: tensor<2xf64>, %s: tensor<2xf64>",
               "%y = gradus.stop_gradient %x passing_to %s : tensor<2xf64>",
               {floats({2}, {1, 2}), floats({2}, {3, 4})});
  EXPECT_EQ(y[0].floats, (std::vector<double>{1, 2}));
}
