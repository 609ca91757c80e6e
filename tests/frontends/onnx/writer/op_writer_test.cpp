// Operands are written as ONNX broadcasts them.

#include "../written.h"

using namespace gradus;
using namespace gradus::testing;

TEST(OpWriter, LeavesBroadcastingToTheNode) {
  EXPECT_EQ(nodesOf({"%x: tensor<2x3xf32>, %v: tensor<3xf32>",
                     "%w = gradus.broadcast %v dims [1] : tensor<3xf32> -> "
                     "tensor<2x3xf32>\n%y = arith.addf %x, %w : "
                     "tensor<2x3xf32>",
                     "tensor<2x3xf32>"}),
            (Types{"Add"}));
}

TEST(OpWriter, AlignsDimensionsThatAreNotTheLast) {
  EXPECT_EQ(nodesOf({"%x: tensor<2x3xf32>, %v: tensor<2xf32>",
                     "%w = gradus.broadcast %v dims [0] : tensor<2xf32> -> "
                     "tensor<2x3xf32>\n%y = arith.addf %x, %w : "
                     "tensor<2x3xf32>",
                     "tensor<2x3xf32>"}),
            (Types{"Constant", "Reshape", "Add"}));
}

TEST(OpWriter, BroadcastsOneOperandIfAllAreSmaller) {
  EXPECT_EQ(nodesOf({"%v: tensor<3xf32>, %u: tensor<3xf32>",
                     "%a = gradus.broadcast %v dims [1] : tensor<3xf32> -> "
                     "tensor<2x3xf32>\n%b = gradus.broadcast %u dims [1] : "
                     "tensor<3xf32> -> tensor<2x3xf32>\n%y = arith.mulf %a, "
                     "%b : tensor<2x3xf32>",
                     "tensor<2x3xf32>"}),
            (Types{"Constant", "Expand", "Mul"}));
}
