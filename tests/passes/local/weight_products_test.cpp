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
      parts = weightParts(update.getGradientUse().get(), ForwardPass(train),
                          reason);
    });
    if (parts.size() == 1)
      found = parts.front().product;
  }

  llvm::SmallVector<WeightPart> parts;
  std::optional<WeightProduct> found; // if there is one alone
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

TEST(WeightProducts, ExchangeRolesInATransposedConvolution) {
  Gradient made(
      "    %dw = gradus.convolution_backward_weights %maps, %images strides "
      "[1, 1] pads [2, 2] to [2, 2] dilations [1, 1] : "
      "tensor<8x2x4x4xf32>, tensor<8x4x6x6xf32> -> tensor<4x2x3x3xf32>",
      "tensor<4x2x3x3xf32>");
  ASSERT_TRUE(made.found) << made.reason;
  EXPECT_TRUE(made.found->isTransposed);
  EXPECT_EQ(tensorType(made.found->inputs).getDimSize(1), 4);
  EXPECT_EQ(tensorType(made.found->outputs).getDimSize(1), 2);
  EXPECT_THAT(made.found->axes, ElementsAre(0));
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

/// Batches of a matmul are rows of a weight that all of them use.
TEST(WeightProducts, SumOverTheBatchesOfAMatmul) {
  const std::string batches =
      "    %a = gradus.reshape %x : tensor<8x3xf32> -> tensor<2x4x3xf32>\n"
      "    %b = gradus.reshape %dy : tensor<8x2xf32> -> tensor<2x4x2xf32>\n"
      "    %0 = gradus.matmul %b transposed, %a : tensor<2x4x2xf32>, "
      "tensor<2x4x3xf32> -> tensor<2x2x3xf32>\n";
  Gradient made(batches + "    %dw = gradus.reduce sum %0 axes [0] : "
                          "tensor<2x2x3xf32> -> tensor<2x3xf32>",
                "tensor<2x3xf32>");
  ASSERT_TRUE(made.found) << made.reason;
  EXPECT_EQ(made.found->inputAxis, 2);
  EXPECT_EQ(made.found->outputAxis, 2);
  EXPECT_THAT(made.found->axes, ElementsAre(1));
  Gradient rows(batches + "    %dw = gradus.reduce sum %0 axes [1] : "
                          "tensor<2x2x3xf32> -> tensor<2x3xf32>",
                "tensor<2x3xf32>");
  EXPECT_TRUE(rows.parts.empty());
}

TEST(WeightProducts, AreSummedOverUses) {
  Gradient twice(kDense +
                     "    %1 = gradus.matmul %dy transposed, %x : "
                     "tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>\n"
                     "    %dw = arith.addf %0, %1 : tensor<2x3xf32>",
                 "tensor<2x3xf32>");
  ASSERT_EQ(twice.parts.size(), 2u) << twice.reason;
  for (const WeightPart &part : twice.parts) {
    EXPECT_TRUE(part.inputs.isWhole());
    EXPECT_TRUE(part.outputs.isWhole());
  }
}

/// Zeros around a gradient are of other parts of the weight.
TEST(WeightProducts, ArePartsOfALargerWeight) {
  Gradient padded(kDense + "    %dw = gradus.pad %0 low [4, 0] high [1, 0] "
                           "interior [0, 0] : tensor<2x3xf32> -> "
                           "tensor<7x3xf32>",
                  "tensor<7x3xf32>");
  ASSERT_EQ(padded.parts.size(), 1u) << padded.reason;
  EXPECT_EQ(padded.parts[0].outputs, (SideRange{0, 4, 2, 7}));
  EXPECT_EQ(padded.parts[0].inputs, (SideRange{0, 0, 3, 3}));
  Gradient joined(kDense + "    %1 = arith.constant dense<0.0> : "
                           "tensor<2x1xf32>\n"
                           "    %dw = gradus.concatenate %1, %0 axis 1 : "
                           "tensor<2x1xf32>, tensor<2x3xf32> -> "
                           "tensor<2x4xf32>",
                  "tensor<2x4xf32>");
  ASSERT_EQ(joined.parts.size(), 1u) << joined.reason;
  EXPECT_EQ(joined.parts[0].inputs, (SideRange{0, 1, 3, 4}));
  EXPECT_EQ(joined.parts[0].outputs, (SideRange{0, 0, 2, 2}));
}

/// A layer may use several weights as one.
TEST(WeightProducts, HavePartsOfWhatALayerUses) {
  Gradient last(kDense + "    %dw = gradus.slice %0 starts [0, 1] steps [1, 1] "
                         ": tensor<2x3xf32> -> tensor<2x2xf32>",
                "tensor<2x2xf32>");
  ASSERT_EQ(last.parts.size(), 1u) << last.reason;
  EXPECT_EQ(last.parts[0].inputs, (SideRange{1, 0, 2, 2}));
  EXPECT_EQ(last.parts[0].outputs, (SideRange{0, 0, 2, 2}));
}

/// Gates in another order, as of a recurrent layer: each is a part.
TEST(WeightProducts, ArePartsInAnyOrder) {
  Gradient swapped(
      kDense + "    %1 = gradus.slice %0 starts [0, 0] steps [1, 1] : "
               "tensor<2x3xf32> -> tensor<1x3xf32>\n"
               "    %2 = gradus.slice %0 starts [1, 0] steps [1, 1] : "
               "tensor<2x3xf32> -> tensor<1x3xf32>\n"
               "    %dw = gradus.concatenate %2, %1 axis 0 : tensor<1x3xf32>, "
               "tensor<1x3xf32> -> tensor<2x3xf32>",
      "tensor<2x3xf32>");
  ASSERT_EQ(swapped.parts.size(), 2u) << swapped.reason;
  EXPECT_EQ(swapped.parts[0].outputs, (SideRange{1, 0, 1, 2}));
  EXPECT_EQ(swapped.parts[1].outputs, (SideRange{0, 1, 1, 2}));
}

/// Both directions of a recurrent layer lie in one weight [2, outputs, inputs],
/// and the second one's outputs behind those of the first.
TEST(WeightProducts, ArePartsByAnIndexThatIsDropped) {
  Gradient both(
      kDense +
          "    %1 = gradus.matmul %dy transposed, %x : tensor<8x2xf32>, "
          "tensor<8x3xf32> -> tensor<2x3xf32>\n"
          "    %a = gradus.reshape %0 : tensor<2x3xf32> -> tensor<1x2x3xf32>\n"
          "    %b = gradus.reshape %1 : tensor<2x3xf32> -> tensor<1x2x3xf32>\n"
          "    %dw = gradus.concatenate %a, %b axis 0 : tensor<1x2x3xf32>, "
          "tensor<1x2x3xf32> -> tensor<2x2x3xf32>",
      "tensor<2x2x3xf32>");
  ASSERT_EQ(both.parts.size(), 2u) << both.reason;
  for (int64_t i : {0, 1}) {
    EXPECT_EQ(both.parts[i].inputs, (SideRange{0, 0, 3, 3}));
    EXPECT_EQ(both.parts[i].outputs, (SideRange{0, 2 * i, 2, 4}));
    EXPECT_THAT(both.parts[i].product.axes, ElementsAre(2));
  }
}

TEST(WeightProducts, AreNoneWhereSomethingElseMakesTheGradient) {
  Gradient sum(kDense + "    %1 = arith.mulf %0, %0 : tensor<2x3xf32>\n"
                        "    %dw = arith.addf %0, %1 : tensor<2x3xf32>",
               "tensor<2x3xf32>");
  EXPECT_TRUE(sum.parts.empty());
  EXPECT_EQ(sum.reason,
            "its gradient is a sum, of which a part is made by arith.mulf, "
            "which sums no product of a layer's two sides over rows");
  Gradient forward("    %dw = gradus.matmul %t transposed, %x : "
                   "tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>",
                   "tensor<2x3xf32>");
  EXPECT_FALSE(forward.found) << "both sides are inputs";
  Gradient zero("    %dw = arith.constant dense<0.0> : tensor<2x3xf32>",
                "tensor<2x3xf32>");
  EXPECT_EQ(zero.reason, "its gradient is zero");
}

/// Other uses of the weight have another loss scale.
TEST(WeightProducts, AreNoneBehindABorderOfLossScales) {
  Gradient scaled(
      kDense +
          "    %one = arith.constant dense<1.0> : tensor<f32>\n"
          "    %ratio = arith.divf %one, %one {gradus.border = array<i64: 0, "
          "1>} : tensor<f32>\n"
          "    %spread = gradus.broadcast %ratio dims [] : tensor<f32> -> "
          "tensor<2x3xf32>\n"
          "    %1 = arith.mulf %0, %spread : tensor<2x3xf32>\n"
          "    %dw = arith.addf %0, %1 : tensor<2x3xf32>",
      "tensor<2x3xf32>");
  EXPECT_TRUE(scaled.parts.empty());
  EXPECT_EQ(scaled.reason, "its gradient is a sum, of which a part is "
                           "multiplied at a border of loss scales");
}

/// Taps of a window are no range of the features that patches have.
TEST(WeightProducts, AreNoPartsOfAWindow) {
  Gradient tap(
      "    %0 = gradus.convolution_backward_weights %images, %maps strides "
      "[1, 1] pads [0, 0] to [0, 0] dilations [1, 1] : "
      "tensor<8x4x6x6xf32>, tensor<8x2x4x4xf32> -> tensor<2x4x3x3xf32>\n"
      "    %dw = gradus.slice %0 starts [0, 0, 1, 0] steps [1, 1, 1, 1] : "
      "tensor<2x4x3x3xf32> -> tensor<2x4x1x3xf32>",
      "tensor<2x4x1x3xf32>");
  EXPECT_TRUE(tap.parts.empty());
  EXPECT_EQ(tap.reason, "its gradient is a part of a window, or of a group, or "
                        "has other axes");
}

} // namespace
