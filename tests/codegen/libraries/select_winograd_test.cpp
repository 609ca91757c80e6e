// A step whose convolutions go through Winograd's algorithm, where this machine
// has vectors for it, and the same step by direct convolutions.

#include "tests/codegen/kernels/winograd_cases.h"
#include "tests/codegen/nests/needs_onednn.h"

using namespace gradus;
using namespace gradus::test;

namespace {

/// A convolution with a bias and both its gradients, large enough for the
/// algorithm.
std::string layer(const std::string &element, const std::string &convolutions) {
  std::string image = "tensor<1x32x60x68x" + element + ">",
              output = "tensor<1x32x59x68x" + element + ">",
              weight = "tensor<32x32x3x3x" + element + ">",
              bias = "tensor<32x" + element + ">",
              how = " strides [1, 1] pads [0, 2] to [1, 0] dilations [1, 1] : ";
  return "gradus.program @p attributes {recipe = {convolutions = \"" +
         convolutions + "\"}} {\ngradus.graph @g(%x: " + image +
         ", %w: " + weight + ", %b: " + bias + ", %d: " + output +
         ") -> (y: " + output + ", dx: " + image +
         ", dw: tensor<32x32x3x3xf32>) {\n" + "%0 = gradus.convolution %x, %w" +
         how + image + ", " + weight + " -> " + output +
         "\n%1 = gradus.broadcast %b dims [1] : " + bias + " -> " + output +
         "\n%2 = arith.addf %0, %1 : " + output +
         "\n%dx = gradus.convolution_backward_data %d, %w" + how + output +
         ", " + weight + " -> " + image +
         "\n%dw = gradus.convolution_backward_weights %x, %d" + how + image +
         ", " + output +
         " -> tensor<32x32x3x3xf32>\ngradus.return %2, %dx, %dw : " + output +
         ", " + image + ", tensor<32x32x3x3xf32>\n}\n}\n";
}

NamedTensors resultsOf(const std::string &element,
                       const std::string &convolutions) {
  return Compiled(layer(element, convolutions))
      .run("g", {{"x", normal({1, 32, 60, 68}, element, 1)},
                 {"w", normal({32, 32, 3, 3}, element, 2, 0.08)},
                 {"b", normal({32}, element, 3)},
                 {"d", normal({1, 32, 59, 68}, element, 4)}});
}

} // namespace

/// Direct sums in f32 round by some 2.2e-7 of the results, those by the
/// algorithm by 4.5 times as much at most; sums of 4,012 positions by more, of
/// which 2.5 times. What is stored in bf16 is rounded by at most 2^-9 of itself
/// on either side, and so is the sum with the bias.
TEST(SelectWinograd, ChangesConvolutionsByRoundingsAlone) {
  NEEDS_ONEDNN();
  constexpr double f32 = 2e-6;
  const double bf16 = 4 * std::ldexp(1, -9);
  for (const std::string element : {"f32", "bf16"}) {
    NamedTensors found = resultsOf(element, "auto"),
                 direct = resultsOf(element, "direct");
    for (auto [name, part] : {std::pair("y", element == "f32" ? f32 : bf16),
                              {"dx", element == "f32" ? f32 : bf16},
                              {"dw", f32}}) {
      const Numbers &one = found[name].floats, &other = direct[name].floats;
      ASSERT_FALSE(one.empty());
      EXPECT_LE(distance(one, other),
                part * distance(other, Numbers(other.size())))
          << element << " " << name;
    }
  }
}
