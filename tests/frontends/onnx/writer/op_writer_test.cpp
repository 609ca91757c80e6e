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

/// Whether the Reshape that a program is written as takes 0 for a size.
static bool zeroIsASize(const Written &program) {
  Imported model = parsed(program);
  auto written = gradus::onnx::writeProgram(model.program(), false);
  EXPECT_TRUE(written.ok());
  bool result = false;
  for (const auto &node : written->model.graph().node())
    if (node.op_type() == "Reshape")
      for (const auto &each : node.attribute())
        result |= each.name() == "allowzero" && each.i() == 1;
  return result;
}

TEST(OpWriter, ZeroIsASizeOfAReshape) {
  auto reshape = [](const std::string &from, const std::string &to) {
    return Written{"%x: " + from,
                   "%y = gradus.reshape %x : " + from + " -> " + to, to};
  };
  EXPECT_TRUE(zeroIsASize(reshape("tensor<0x3xf32>", "tensor<3x0xf32>")));
  EXPECT_FALSE(zeroIsASize(reshape("tensor<2x3xf32>", "tensor<3x2xf32>")));
  EXPECT_TRUE(
      zeroIsASize({"%x: tensor<3x0x2xf32>, %v: tensor<3x0xf32>",
                   "%w = gradus.broadcast %v dims [0, 1] : tensor<3x0xf32> "
                   "-> tensor<3x0x2xf32>\n%y = arith.addf %x, %w : "
                   "tensor<3x0x2xf32>",
                   "tensor<3x0x2xf32>"}));
}
