// The two sides of a layer in its weight's gradient, wherever its axes lie.

#include "passes/local/weight_products.h"

#include "ir/build.h"

#include "../program_text.h"

#include <gmock/gmock.h>

using namespace gradus;
using gradus::testing::PassText;
using ::testing::ElementsAre;

namespace {

/// What is found in the gradient `%dw` of a graph with an input %x of 8 rows,
/// the labels %t of the rows, and the gradient %dy of what a layer makes of
/// them.
class Gradient {
public:
  explicit Gradient(const std::string &ops, const std::string &type)
      : text_(R"(
gradus.program @p {
  gradus.state @w : )" +
              type +
              R"( {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x3xf32>, %t: tensor<8x2xf32>, %images: tensor<8x4x6x6xf32>, %ids: tensor<8xi64>) -> () {
    %dy = math.sin %t : tensor<8x2xf32>
    %maps = gradus.broadcast %dy dims [0, 1] : tensor<8x2xf32> -> tensor<8x2x4x4xf32>
)" + ops + R"(
    gradus.update @w, %dw : )" +
              type + R"(
    gradus.return
  }
})") {
    GraphOp train = text_.program().getGraph("train");
    EXPECT_TRUE(train) << text_.messages;
    train.walk([&](ParameterUpdate update) {
      found = weightProduct(update.getGradientUse().get(), ForwardPass(train),
                            reason);
    });
  }

  std::optional<WeightProduct> found;
  std::string reason;

private:
  PassText text_;
};

const std::string kDense =
    "    %0 = gradus.matmul %dy transposed, %x : tensor<8x2xf32>, "
    "tensor<8x3xf32> -> tensor<2x3xf32>\n";

TEST(WeightProducts, KnowTheAxesOfADenseLayer) {
  Gradient rows("    %dw = gradus.matmul %dy transposed, %x : tensor<8x2xf32>, "
                "tensor<8x3xf32> -> tensor<2x3xf32>",
                "tensor<2x3xf32>");
  ASSERT_TRUE(rows.found) << rows.reason;
  EXPECT_EQ(rows.found->kind, WeightKind::dense);
  EXPECT_EQ(tensorType(rows.found->inputs).getDimSize(1), 3);
  EXPECT_EQ(rows.found->inputAxis, 1);
  EXPECT_EQ(rows.found->outputAxis, 1);
  EXPECT_THAT(rows.found->axes, ElementsAre(1));
  Gradient columns("    %dw = gradus.matmul %x transposed, %dy : "
                   "tensor<8x3xf32>, tensor<8x2xf32> -> tensor<3x2xf32>",
                   "tensor<3x2xf32>");
  ASSERT_TRUE(columns.found) << columns.reason;
  EXPECT_THAT(columns.found->axes, ElementsAre(0));
}

TEST(WeightProducts, AreSeenThroughMovesAndCasts) {
  Gradient turned(kDense + "    %dw = gradus.transpose %0 perm [1, 0] : "
                           "tensor<2x3xf32> -> tensor<3x2xf32>",
                  "tensor<3x2xf32>");
  ASSERT_TRUE(turned.found) << turned.reason;
  EXPECT_THAT(turned.found->axes, ElementsAre(0));
  Gradient longer(kDense + "    %dw = gradus.reshape %0 : tensor<2x3xf32> -> "
                           "tensor<2x1x3x1xf32>",
                  "tensor<2x1x3x1xf32>");
  ASSERT_TRUE(longer.found) << longer.reason;
  EXPECT_THAT(longer.found->axes, ElementsAre(2));
  Gradient mixed(kDense + "    %dw = gradus.reshape %0 : tensor<2x3xf32> -> "
                          "tensor<3x2xf32>",
                 "tensor<3x2xf32>");
  EXPECT_FALSE(mixed.found);
  Gradient wide(kDense + "    %dw = arith.extf %0 : tensor<2x3xf32> to "
                         "tensor<2x3xf64>",
                "tensor<2x3xf64>");
  EXPECT_TRUE(wide.found) << wide.reason;
}

TEST(WeightProducts, HaveTheWindowOfAConvolution) {
  Gradient made(
      "    %dw = gradus.convolution_backward_weights %images, %maps strides "
      "[1, 1] pads [0, 0] to [0, 0] dilations [1, 1] groups 2 : "
      "tensor<8x4x6x6xf32>, tensor<8x2x4x4xf32> -> tensor<2x2x3x3xf32>",
      "tensor<2x2x3x3xf32>");
  ASSERT_TRUE(made.found) << made.reason;
  EXPECT_EQ(made.found->kind, WeightKind::convolution);
  EXPECT_EQ(made.found->groups, 2);
  EXPECT_THAT(made.found->axes, ElementsAre(1, 2, 3));
}

TEST(WeightProducts, ExchangeNoRolesInATransposedConvolution) {
  Gradient made(
      "    %dw = gradus.convolution_backward_weights %maps, %images strides "
      "[1, 1] pads [2, 2] to [2, 2] dilations [1, 1] : "
      "tensor<8x2x4x4xf32>, tensor<8x4x6x6xf32> -> tensor<4x2x3x3xf32>",
      "tensor<4x2x3x3xf32>");
  EXPECT_FALSE(made.found);
  EXPECT_EQ(made.reason, "its gradient is that of a transposed convolution");
}

TEST(WeightProducts, CountTheRowsOfAnEmbedding) {
  Gradient made("    %dw = gradus.scatter_add %dy at %ids axis 0 : "
                "tensor<8x2xf32>, tensor<8xi64> -> tensor<5x2xf32>",
                "tensor<5x2xf32>");
  ASSERT_TRUE(made.found) << made.reason;
  EXPECT_EQ(made.found->kind, WeightKind::embedding);
  EXPECT_EQ(made.found->outputAxis, 1);
  EXPECT_THAT(made.found->axes, ElementsAre(0));
}

TEST(WeightProducts, AreNoneWhereSomethingElseMakesTheGradient) {
  Gradient sum(kDense + "    %dw = arith.addf %0, %0 : tensor<2x3xf32>",
               "tensor<2x3xf32>");
  EXPECT_FALSE(sum.found);
  EXPECT_EQ(sum.reason,
            "its gradient is a sum, as the weight is used several times");
  Gradient forward("    %dw = gradus.matmul %t transposed, %x : "
                   "tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>",
                   "tensor<2x3xf32>");
  EXPECT_FALSE(forward.found) << "both sides are inputs";
}

} // namespace
