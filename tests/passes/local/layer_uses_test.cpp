// How the parts of a weight's gradient become layers.

#include "passes/local/layer_uses.h"

#include "ir/build.h"

#include "../program_text.h"

using namespace gradus;
using gradus::testing::PassText;

namespace {

/// The layers of the gradient `%dw` of a graph with the inputs %x and %z of 8
/// rows each, and gradients %dy and %dz of what comes out.
class Layers {
public:
  explicit Layers(const std::string &ops, const std::string &type)
      : text_(R"(
gradus.program @p {
  gradus.state @w : )" +
              type +
              R"( {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x3xf32>, %z: tensor<8x3xf32>, %t: tensor<8x2xf32>, %u: tensor<8x4xf32>, %ids: tensor<8xi64>) -> () {
    %dy = math.sin %t : tensor<8x2xf32>
    %dz = math.cos %t : tensor<8x2xf32>
    %du = math.cos %u : tensor<8x4xf32>
    %xy = gradus.matmul %dy transposed, %x : tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
    %xz = gradus.matmul %dz transposed, %x : tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
    %zz = gradus.matmul %dz transposed, %z : tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
    %zy = gradus.matmul %dy transposed, %z : tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
    %zu = gradus.matmul %du transposed, %z : tensor<8x4xf32>, tensor<8x3xf32> -> tensor<4x3xf32>
    %looked = gradus.scatter_add %dy at %ids axis 0 : tensor<8x2xf32>, tensor<8xi64> -> tensor<3x2xf32>
)" + ops + R"(
    gradus.update @w, %dw : )" +
              type + R"(
    gradus.return
  }
})") {
    GraphOp train = text_.program().getGraph("train");
    EXPECT_TRUE(train) << text_.messages;
    train.walk([&](ParameterUpdate update) {
      auto parts = weightParts(update.getGradientUse().get(),
                               ForwardPass(train), reason);
      EXPECT_FALSE(parts.empty()) << reason;
      if (!parts.empty())
        found = layersOf(parts, reason);
    });
  }

  std::optional<WeightLayers> found;
  std::string reason;

private:
  PassText text_;
};

std::string joined(const std::string &a, const std::string &b, int axis,
                   const std::string &types) {
  return "    %dw = gradus.concatenate " + a + ", " + b + " axis " +
         std::to_string(axis) + " : " + types;
}

const std::string kTwo = "tensor<2x3xf32>, tensor<2x3xf32> -> ";

} // namespace

TEST(LayerUses, OfAWholeWeightAreOneLayer) {
  Layers sum("    %dw = arith.addf %xy, %zz : tensor<2x3xf32>",
             "tensor<2x3xf32>");
  ASSERT_TRUE(sum.found) << sum.reason;
  EXPECT_EQ(sum.found->groups, 1);
  ASSERT_EQ(sum.found->parts.size(), 1u);
  EXPECT_EQ(sum.found->parts[0].uses.size(), 2u);
}

/// Gradients of what comes out of equal inputs add up.
TEST(LayerUses, OfTheSameInputsAreOne) {
  Layers sum("    %dw = arith.addf %xy, %xz : tensor<2x3xf32>",
             "tensor<2x3xf32>");
  ASSERT_TRUE(sum.found) << sum.reason;
  ASSERT_EQ(sum.found->parts[0].uses.size(), 1u);
  const UseSide &outputs = sum.found->parts[0].uses[0].outputs;
  ASSERT_EQ(outputs.pieces.size(), 2u);
  EXPECT_EQ(outputs.pieces[0].to, outputs.pieces[1].to);
}

TEST(LayerUses, OfPartsWithTheSameInputsAreOne) {
  Layers cut(joined("%xy", "%xz", 0, kTwo + "tensor<4x3xf32>"),
             "tensor<4x3xf32>");
  ASSERT_TRUE(cut.found) << cut.reason;
  EXPECT_EQ(cut.found->groups, 1);
  ASSERT_EQ(cut.found->parts[0].uses.size(), 1u);
  EXPECT_EQ(cut.found->parts[0].uses[0].outputs.pieces[1].to, 2);
}

TEST(LayerUses, OfPartsThatAddUpAreOne) {
  Layers cut(joined("%xy", "%zy", 1, kTwo + "tensor<2x6xf32>"),
             "tensor<2x6xf32>");
  ASSERT_TRUE(cut.found) << cut.reason;
  EXPECT_EQ(cut.found->groups, 1);
  ASSERT_EQ(cut.found->parts[0].uses.size(), 1u);
  EXPECT_EQ(cut.found->parts[0].uses[0].inputs.pieces[1].to, 3);
}

TEST(LayerUses, OfOtherPartsAreLayersOfTheirOwn) {
  Layers rows(joined("%xy", "%zz", 0, kTwo + "tensor<4x3xf32>"),
              "tensor<4x3xf32>");
  ASSERT_TRUE(rows.found) << rows.reason;
  EXPECT_EQ(rows.found->groups, 2);
  EXPECT_TRUE(rows.found->cutsOutputs && !rows.found->cutsInputs);
  EXPECT_FALSE(rows.found->groupsInputs);
  Layers columns(joined("%xy", "%zz", 1, kTwo + "tensor<2x6xf32>"),
                 "tensor<2x6xf32>");
  ASSERT_TRUE(columns.found) << columns.reason;
  EXPECT_EQ(columns.found->groups, 2);
  EXPECT_TRUE(columns.found->cutsInputs && !columns.found->cutsOutputs);
  EXPECT_TRUE(columns.found->groupsInputs);
}

TEST(LayerUses, OfALargerPartAreSeveralLayers) {
  Layers cut(joined("%xy", "%zu", 0,
                    "tensor<2x3xf32>, tensor<4x3xf32> -> tensor<6x3xf32>"),
             "tensor<6x3xf32>");
  ASSERT_TRUE(cut.found) << cut.reason;
  EXPECT_EQ(cut.found->groups, 3);
  ASSERT_EQ(cut.found->parts.size(), 2u);
  EXPECT_EQ(cut.found->parts[0].count, 1);
  EXPECT_EQ(cut.found->parts[1].count, 2);
}

TEST(LayerUses, AreNoneOfPartsThatDoNotFit) {
  const std::string words =
      "its uses have parts of it that overlap, that leave gaps, or of which "
      "the smallest does not divide the others";
  Layers gap("    %0 = arith.constant dense<0.0> : tensor<2x3xf32>\n" +
                 joined("%xy", "%0", 0, kTwo + "tensor<4x3xf32>"),
             "tensor<4x3xf32>");
  EXPECT_FALSE(gap.found);
  EXPECT_EQ(gap.reason, words);
  Layers over("    %0 = gradus.pad %xy low [2, 0] high [0, 0] interior [0, 0] "
              ": tensor<2x3xf32> -> tensor<4x3xf32>\n"
              "    %dw = arith.addf %0, %zu : tensor<4x3xf32>",
              "tensor<4x3xf32>");
  EXPECT_FALSE(over.found);
  EXPECT_EQ(over.reason, words);
}

TEST(LayerUses, AreNoneOfPartsOfBothSides) {
  Layers cut("    %0 = gradus.pad %xy low [2, 3] high [0, 0] interior [0, 0] : "
             "tensor<2x3xf32> -> tensor<4x6xf32>\n"
             "    %1 = gradus.pad %zz low [0, 0] high [2, 3] interior [0, 0] : "
             "tensor<2x3xf32> -> tensor<4x6xf32>\n"
             "    %dw = arith.addf %0, %1 : tensor<4x6xf32>",
             "tensor<4x6xf32>");
  EXPECT_FALSE(cut.found);
  EXPECT_EQ(cut.reason, "its uses have parts of its inputs and of its outputs");
}

TEST(LayerUses, AreNoneOfATableThatIsALayerToo) {
  Layers tied("    %0 = gradus.transpose %looked perm [1, 0] : "
              "tensor<3x2xf32> -> tensor<2x3xf32>\n"
              "    %dw = arith.addf %xy, %0 : tensor<2x3xf32>",
              "tensor<2x3xf32>");
  EXPECT_FALSE(tied.found);
  EXPECT_EQ(tied.reason, "it is used as dense and as embedding, whose sides "
                         "have other units");
}

/// Rows of a larger table, which other rows are looked up in, too.
TEST(LayerUses, OfATableMayBePartsOfWhatIsRead) {
  Layers last("    %dw = gradus.slice %looked starts [1, 0] steps [1, 1] : "
              "tensor<3x2xf32> -> tensor<2x2xf32>",
              "tensor<2x2xf32>");
  ASSERT_TRUE(last.found) << last.reason;
  const SidePiece &rows = last.found->parts[0].uses[0].inputs.pieces.front();
  EXPECT_EQ(rows.from, 1);
  EXPECT_EQ(rows.size, 2);
}

TEST(LayerUses, AreNoneOfATableThatIsReadInPart) {
  const std::string first = "    %0 = gradus.pad %looked low [0, 0] high [3, 0]"
                            " interior [0, 0] : tensor<3x2xf32> -> "
                            "tensor<6x2xf32>\n";
  Layers part(first + "    %1 = arith.constant dense<0.0> : tensor<6x2xf32>\n"
                      "    %dw = arith.addf %0, %1 : tensor<6x2xf32>",
              "tensor<6x2xf32>");
  EXPECT_FALSE(part.found);
  EXPECT_EQ(part.reason, "a part of the table is read");
  // Both parts get the same gradient, but of rows by other indices.
  Layers two(first + "    %others = gradus.slice %ids starts [0] steps [1] : "
                     "tensor<8xi64> -> tensor<8xi64>\n"
                     "    %1 = gradus.scatter_add %dy at %others axis 0 : "
                     "tensor<8x2xf32>, tensor<8xi64> -> tensor<3x2xf32>\n"
                     "    %2 = gradus.pad %1 low [3, 0] high [0, 0] interior "
                     "[0, 0] : tensor<3x2xf32> -> tensor<6x2xf32>\n"
                     "    %dw = arith.addf %0, %2 : tensor<6x2xf32>",
             "tensor<6x2xf32>");
  EXPECT_FALSE(two.found);
  EXPECT_EQ(two.reason, "its uses read different parts of the table");
}

TEST(LayerUses, AreNoneWhereSidesAreExchanged) {
  Layers turned("    %0 = gradus.slice %x starts [0, 0] steps [1, 1] : "
                "tensor<8x3xf32> -> tensor<8x2xf32>\n"
                "    %d3 = math.sin %x : tensor<8x3xf32>\n"
                "    %1 = gradus.matmul %0 transposed, %d3 : tensor<8x2xf32>, "
                "tensor<8x3xf32> -> tensor<2x3xf32>\n"
                "    %dw = arith.addf %xy, %1 : tensor<2x3xf32>",
                "tensor<2x3xf32>");
  EXPECT_FALSE(turned.found);
  EXPECT_EQ(turned.reason, "what are inputs in one use are outputs in another");
}
