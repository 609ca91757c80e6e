// What an op sums and computes is told by its shapes, inside scans as outside.

#include "ir/op_costs.h"

#include "tests/ir/graphs.h"

using namespace mlir;
using namespace gradus;
using namespace gradus::testing;

namespace {

int64_t termsOf(const std::string &inputs, const std::string &op) {
  auto module = parseGraph(inputs, "%y = " + op);
  return summedTerms(*lastOp(graphOf(*module)));
}

int64_t flopsOf(const std::string &inputs, const std::string &op) {
  auto module = parseGraph(inputs, "%y = " + op);
  return graphFlops(*lastOp(graphOf(*module)));
}

} // namespace

TEST(OpCosts, AreTheTermsOfSums) {
  EXPECT_EQ(termsOf("%x: tensor<5x7xf32>", "math.exp %x : tensor<5x7xf32>"), 1);
  EXPECT_EQ(termsOf("%x: tensor<5x7xf32>, %w: tensor<7x3xf32>",
                    "gradus.matmul %x, %w : tensor<5x7xf32>, tensor<7x3xf32> "
                    "-> tensor<5x3xf32>"),
            7);
  EXPECT_EQ(termsOf("%x: tensor<2x4x9x9xf32>, %w: tensor<6x4x3x3xf32>",
                    "gradus.convolution %x, %w strides [1, 1] pads [1, 1] to "
                    "[1, 1] dilations [1, 1] : tensor<2x4x9x9xf32>, "
                    "tensor<6x4x3x3xf32> -> tensor<2x6x9x9xf32>"),
            4 * 3 * 3);
  EXPECT_EQ(termsOf("%x: tensor<2x4x9x9xf32>, %g: tensor<2x6x9x9xf32>",
                    "gradus.convolution_backward_weights %x, %g strides [1, 1] "
                    "pads [1, 1] to [1, 1] dilations [1, 1] : "
                    "tensor<2x4x9x9xf32>, tensor<2x6x9x9xf32> -> "
                    "tensor<6x4x3x3xf32>"),
            2 * 9 * 9);
  EXPECT_EQ(termsOf("%x: tensor<2x4x9x9xf32>",
                    "gradus.gram %x window [3, 3] strides [1, 1] pads [1, 1] "
                    "to [1, 1] dilations [1, 1] block 36 : "
                    "tensor<2x4x9x9xf32> -> tensor<1x36x36xf32>"),
            2 * 9 * 9);
  EXPECT_EQ(
      termsOf("%x: tensor<3x8x8xf32>", "gradus.inverse %x : tensor<3x8x8xf32>"),
      8);
  EXPECT_EQ(termsOf("%x: tensor<50x70xf32>",
                    "gradus.reduce sum %x axes [0, 1] : tensor<50x70xf32> -> "
                    "tensor<f32>"),
            50 * 70);
}

TEST(OpCosts, CountATermTwiceAndAnElementOnce) {
  EXPECT_EQ(flopsOf("%x: tensor<5x7xf32>", "math.exp %x : tensor<5x7xf32>"),
            5 * 7);
  EXPECT_EQ(flopsOf("%x: tensor<5x7xf32>", "gradus.reshape %x : "
                                           "tensor<5x7xf32> -> tensor<35xf32>"),
            0);
  EXPECT_EQ(flopsOf("%x: tensor<7x5xf32>, %w: tensor<7x3xf32>",
                    "gradus.matmul %x transposed, %w : tensor<7x5xf32>, "
                    "tensor<7x3xf32> -> tensor<5x3xf32>"),
            2 * 7 * 5 * 3);
  EXPECT_EQ(flopsOf("%x: tensor<2x4x9x9xf32>, %w: tensor<6x4x3x3xf32>",
                    "gradus.convolution %x, %w strides [1, 1] pads [1, 1] to "
                    "[1, 1] dilations [1, 1] : tensor<2x4x9x9xf32>, "
                    "tensor<6x4x3x3xf32> -> tensor<2x6x9x9xf32>"),
            2 * (4 * 3 * 3) * (2 * 6 * 9 * 9));
}

TEST(OpCosts, OfAScanAreThoseOfItsBodyInEachStep) {
  const std::string inputs = "%x: tensor<2x4x9x9xf32>, %w: tensor<4x4x3x3xf32>",
                    scan =
                        "gradus.scan 5 carry(%x : tensor<2x4x9x9xf32>) with(%w "
                        ": tensor<4x4x3x3xf32>) body {\n"
                        "^bb0(%a: tensor<2x4x9x9xf32>, %b: "
                        "tensor<4x4x3x3xf32>):\n"
                        "%c = gradus.convolution %a, %b strides [1, 1] pads "
                        "[1, 1] to [1, 1] dilations [1, 1] : "
                        "tensor<2x4x9x9xf32>, tensor<4x4x3x3xf32> -> "
                        "tensor<2x4x9x9xf32>\n"
                        "%d = gradus.relu %c : tensor<2x4x9x9xf32>\n"
                        "gradus.yield %d : tensor<2x4x9x9xf32>\n} -> "
                        "tensor<2x4x9x9xf32>";
  const int64_t terms = 4 * 3 * 3, elements = 2 * 4 * 9 * 9;
  EXPECT_EQ(termsOf(inputs, scan), terms + 5);
  EXPECT_EQ(flopsOf(inputs, scan), 5 * (2 * terms + 1) * elements);
}
