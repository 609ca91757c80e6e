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

/// Convolutions from 64 channels to others, and back to 64: the first and the
/// last are large enough for the algorithm.
std::string besideOthers(const std::string &channels, const std::string &inner,
                         const std::string &groups,
                         const std::string &convolutions) {
  std::string x = "tensor<1x64x40x44xf32>",
              h = "tensor<1x" + channels + "x40x44xf32>",
              w = "tensor<64x64x3x3xf32>",
              u = "tensor<" + channels + "x" + inner + "x3x3xf32>",
              v = "tensor<64x" + channels + "x3x3xf32>",
              how = " strides [1, 1] pads [1, 1] to [1, 1] dilations [1, 1]";
  return "gradus.program @p attributes {recipe = {convolutions = \"" +
         convolutions + "\"}} {\ngradus.graph @g(%x: " + x + ", %w: " + w +
         ", %u: " + u + ", %v: " + v + ") -> (y: " + x + ", dx: " + x +
         ", h: " + h + ") {\n%0 = gradus.convolution %x, %w" + how + " : " + x +
         ", " + w + " -> " + x + "\n%1 = gradus.relu %0 : " + x +
         "\n%2 = gradus.convolution %1, %u" + how + " groups " + groups +
         " : " + x + ", " + u + " -> " + h + "\n%3 = gradus.relu %2 : " + h +
         "\n%4 = gradus.convolution %3, %v" + how + " : " + h + ", " + v +
         " -> " + x + "\n%5 = arith.addf %4, %1 : " + x +
         "\n%6 = gradus.convolution_backward_data %5, %w" + how + " : " + x +
         ", " + w + " -> " + x + "\ngradus.return %5, %6, %3 : " + x + ", " +
         x + ", " + h + "\n}\n}\n";
}

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

/// Layers between are the library's: of 40 channels, whose blocks of 16 are
/// padded, and of groups of 8, for which a graph may have blocks of 8. What
/// they read and write has passed three convolutions at most.
TEST(SelectWinograd, ComputesBesideConvolutionsInOtherBlocks) {
  NEEDS_ONEDNN();
  struct {
    int64_t channels, inner, groups;
  } layers[] = {{40, 64, 1}, {64, 8, 8}};
  for (auto [channels, inner, groups] : layers) {
    auto resultsOf = [&](const std::string &convolutions) {
      return Compiled(besideOthers(std::to_string(channels),
                                   std::to_string(inner),
                                   std::to_string(groups), convolutions))
          .run("g", {{"x", normal({1, 64, 40, 44}, "f32", 1)},
                     {"w", normal({64, 64, 3, 3}, "f32", 2, 0.06)},
                     {"u", normal({channels, inner, 3, 3}, "f32", 3, 0.1)},
                     {"v", normal({64, channels, 3, 3}, "f32", 4, 0.07)}});
    };
    NamedTensors found = resultsOf("auto"), direct = resultsOf("direct");
    for (const char *name : {"y", "dx", "h"}) {
      const Numbers &one = found[name].floats, &other = direct[name].floats;
      ASSERT_FALSE(one.empty());
      EXPECT_LE(distance(one, other),
                4 * 2e-6 * distance(other, Numbers(other.size())))
          << channels << " " << name;
    }
  }
}
