// What the library computes in a compiled program is what the graph says.

#include "tests/codegen/compiled_run.h"
#include "tests/codegen/nests/needs_onednn.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

const char *always = "select{library=always}";

TEST(Select, MultipliesMatricesByTheLibrary) {
  NEEDS_ONEDNN();
  CompiledRun run(graphProgram(
      "%x: tensor<24x40xf32>, %w: tensor<48x40xf32>, %b: tensor<48xf32>) "
      "-> (y: tensor<24x48xf32>",
      "%0 = gradus.matmul %x, %w transposed : tensor<24x40xf32>, "
      "tensor<48x40xf32> -> tensor<24x48xf32>\n"
      "%1 = gradus.broadcast %b dims [1] : tensor<48xf32> -> "
      "tensor<24x48xf32>\n"
      "%2 = arith.addf %0, %1 : tensor<24x48xf32>\n"
      "%3 = gradus.relu %2 : tensor<24x48xf32>\n"
      "gradus.return %3 : tensor<24x48xf32>"));
  run.run(always);
  EXPECT_EQ(callsOf(run, "matmul"), 1);
}

TEST(Select, ConvolvesByTheLibrary) {
  NEEDS_ONEDNN();
  std::string x = "tensor<2x16x12x12xf32>", w = "tensor<32x16x3x3xf32>",
              y = "tensor<2x32x12x12xf32>";
  std::string window =
      " strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1] : ";
  CompiledRun run(graphProgram(
      "%x: " + x + ", %w: " + w + ", %b: tensor<32xf32>, %dy: " + y +
          ") -> (y: " + y + ", dx: " + x + ", dw: " + w,
      "%0 = gradus.convolution %x, %w" + window + x + ", " + w + " -> " + y +
          "\n" + "%1 = gradus.broadcast %b dims [1] : tensor<32xf32> -> " + y +
          "\n" + "%2 = arith.addf %0, %1 : " + y + "\n%3 = gradus.relu %2 : " +
          y + "\n" + "%dx = gradus.convolution_backward_data %dy, %w" + window +
          y + ", " + w + " -> " + x + "\n" +
          "%dw = gradus.convolution_backward_weights %x, %dy" + window + x +
          ", " + y + " -> " + w + "\n" + "gradus.return %3, %dx, %dw : " + y +
          ", " + x + ", " + w));
  run.run(always);
  EXPECT_EQ(callsOf(run, "convolution"), 1);
  EXPECT_EQ(callsOf(run, "convolution_backward_data"), 1);
  EXPECT_EQ(callsOf(run, "convolution_backward_weights"), 1);
}

} // namespace
