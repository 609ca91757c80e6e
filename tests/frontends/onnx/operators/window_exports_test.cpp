// Convolutions and pooling are written with all that they say of their windows.

#include "../written.h"

using namespace gradus;
using namespace gradus::testing;

const std::string kImage = "%x: tensor<1x4x5x6xf32>, %w: tensor<4x2x2x3xf32>, "
                           "%c: tensor<4xf32>";
const std::string kWindow = " strides [2, 1] pads [1, 0] to [0, 1] dilations "
                            "[1, 2] groups 2 : tensor<1x4x5x6xf32>, "
                            "tensor<4x2x2x3xf32> -> ";

TEST(WindowExports, Convolution) {
  expectSame(
      {kImage,
       "%y = gradus.convolution %x, %w" + kWindow + "tensor<1x4x3x3xf32>",
       "tensor<1x4x3x3xf32>"});
}

TEST(WindowExports, TransposedConvolutionWithOutputPadding) {
  for (int rows : {9, 10}) {
    std::string type = "tensor<1x4x" + std::to_string(rows) + "x9xf32>";
    expectSame({kImage,
                "%y = gradus.convolution_backward_data %x, %w" + kWindow + type,
                type});
  }
}

TEST(WindowExports, ABiasOfEachChannelIsPartOfTheNode) {
  for (const char *op : {"convolution", "convolution_backward_data"}) {
    std::string type = op == std::string("convolution") ? "tensor<1x4x3x3xf32>"
                                                        : "tensor<1x4x9x9xf32>";
    Written program{kImage,
                    std::string("%a = gradus.") + op + " %x, %w" + kWindow +
                        type +
                        "\n%b = gradus.broadcast %c dims [1] : tensor<4xf32> "
                        "-> " +
                        type + "\n%y = arith.addf %a, %b : " + type,
                    type};
    expectSame(program);
    Imported model = parsed(program);
    auto written = gradus::onnx::writeProgram(model.program(), false);
    ASSERT_TRUE(written.ok());
    ASSERT_EQ(written->model.graph().node_size(), 1);
    EXPECT_EQ(written->model.graph().node(0).input_size(), 3);
  }
}

TEST(WindowExports, Pooling) {
  const std::string x = "%x: tensor<1x4x5x6xf32>",
                    window = "window [2, 3] strides [2, 1] pads [1, 0] to [0, "
                             "1] dilations [1, 1]",
                    types = " : tensor<1x4x5x6xf32> -> tensor<1x4x3x5xf32>";
  expectSame({x,
              "%y, %i = gradus.max_pool %x " + window + types +
                  ", tensor<1x4x3x5xi32>",
              "tensor<1x4x3x5xf32>"});
  expectSame({x, "%y = gradus.average_pool %x " + window + types,
              "tensor<1x4x3x5xf32>"});
  expectSame(
      {x,
       "%y = gradus.average_pool %x " + window + " count_include_pad" + types,
       "tensor<1x4x3x5xf32>"});
}

TEST(WindowExports, PositionsInWindowsAreAnErrorWhereTheyAreUsed) {
  EXPECT_EQ(errorOf({"%x: tensor<1x1x2x2xf32>",
                     "%m, %y = gradus.max_pool %x window [2, 2] strides [2, 2] "
                     "pads [0, 0] to [0, 0] dilations [1, 1] : "
                     "tensor<1x1x2x2xf32> -> tensor<1x1x1x1xf32>, "
                     "tensor<1x1x1x1xi32> loc(\"pool\")",
                     "tensor<1x1x1x1xi32>"}),
            "node \"pool\" (gradus.max_pool): gives positions in its windows, "
            "which ONNX has no node for");
}
