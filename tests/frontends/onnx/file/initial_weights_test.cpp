// Weights without data start as PyTorch's layers of their kind do.

#include "frontends/onnx/file/initial_weights.h"

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;
using gradus::onnx::InitialWeights;

namespace {

class InitialWeightsTest : public ::testing::Test {
protected:
  InitialWeightsTest() { context_.loadDialect<GradusDialect>(); }

  /// Adds an initializer without data.
  void weight(const std::string &name, const Shape &shape) {
    model_.floats(name, shape, {});
  }

  std::string start(const std::string &name,
                    const std::string &rule = "pytorch") {
    InitialWeights weights(model_.graph(), rule, context_);
    for (const auto &tensor : model_.graph().initializer())
      if (tensor.name() == name) {
        InitAttr init = weights.of(tensor);
        std::string text = stringifyInitializer(init.getRule()).str();
        return init.getValue()
                   ? text + " " +
                         std::to_string(init.getValue().getValueAsDouble())
                   : text;
      }
    return "";
  }

  SmallModel model_;
  mlir::MLIRContext context_;
};

TEST_F(InitialWeightsTest, OfLinearLayersFollowTheirInputs) {
  weight("w", {10, 16});
  weight("b", {10});
  model_.node("Transpose", {"w"}, {"wt"})
      .node("MatMul", {"x", "wt"}, {"y"})
      .node("Add", {"b", "y"}, {"z"});
  EXPECT_EQ(start("w"), "uniform 0.250000");
  EXPECT_EQ(start("b"), "uniform 0.250000");
  EXPECT_EQ(start("w", "normal"), "normal 0.020000");
  EXPECT_EQ(start("w", "kaiming_uniform"), "uniform 0.612372");
  EXPECT_EQ(start("w", "zeros"), "zeros");
}

TEST_F(InitialWeightsTest, OfBranchesAreThoseOfTheirLayers) {
  weight("w", {10, 16});
  SmallModel branch;
  branch.node("Gemm", {"x", "w"}, {"y"}).with("transB", 1);
  model_.node("If", {"condition"}, {"z"});
  auto &attribute = *model_.graph().mutable_node(0)->add_attribute();
  attribute.set_name("then_branch");
  attribute.set_type(::onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = branch.graph();
  EXPECT_EQ(start("w"), "uniform 0.250000");
}

TEST_F(InitialWeightsTest, AreFoundThoughNodesLackInputsOrOutputs) {
  weight("w", {10, 16});
  weight("b", {10});
  model_.node("Transpose", {"w"}, {})
      .node("Gemm", {}, {"y"})
      .node("Add", {"b", "y"}, {"z"});
  // Their names and ranks decide then.
  EXPECT_EQ(start("w"), "normal 0.020000");
  EXPECT_EQ(start("b"), "constant 1.000000");
}

TEST_F(InitialWeightsTest, OfGemmFollowTransB) {
  weight("w", {16, 10});
  weight("v", {10, 16});
  model_.node("Gemm", {"x", "w"}, {"y"});
  model_.node("Gemm", {"x", "v"}, {"z"}).with("transB", 1);
  EXPECT_EQ(start("w"), "uniform 0.250000");
  EXPECT_EQ(start("v"), "uniform 0.250000");
}

TEST_F(InitialWeightsTest, OfConvolutionsCountTheWindow) {
  weight("k", {8, 4, 2, 2});
  weight("b", {8});
  model_.node("Conv", {"x", "k", "b"}, {"y"});
  EXPECT_EQ(start("k"), "uniform 0.250000");
  EXPECT_EQ(start("b"), "uniform 0.250000");
}

/// The bounds are those of torch.nn.init's kaiming_uniform_ and xavier_uniform_
/// on the weights of Linear(16, 10), Conv2d(4, 8, 3, groups=2),
/// ConvTranspose2d(4, 6, 3), LSTM(5, 4) and Embedding(20, 8).
TEST_F(InitialWeightsTest, OfOtherRulesFollowTheLayersFans) {
  weight("gemm", {10, 16});
  weight("matmul", {16, 10});
  weight("plain", {16, 10});
  weight("conv", {8, 2, 3, 3});
  weight("transposed", {4, 6, 3, 3});
  weight("w", {1, 16, 5});
  weight("r", {1, 16, 4});
  weight("table", {20, 8});
  model_.node("Gemm", {"x", "gemm"}, {"a"})
      .with("transB", 1)
      .node("Gemm", {"x", "plain"}, {"a1"})
      .node("MatMul", {"x", "matmul"}, {"b"})
      .node("Conv", {"x", "conv"}, {"c"})
      .node("ConvTranspose", {"x", "transposed"}, {"d"})
      .node("LSTM", {"x", "w", "r"}, {"e"})
      .with("hidden_size", 4)
      .node("Gather", {"table", "ids"}, {"f"});
  auto kaiming = [&](const char *name) {
    return start(name, "kaiming_uniform");
  };
  auto xavier = [&](const char *name) { return start(name, "xavier_uniform"); };
  for (const char *name : {"gemm", "plain", "matmul"}) {
    EXPECT_EQ(kaiming(name), "uniform 0.612372") << name;
    EXPECT_EQ(xavier(name), "uniform 0.480384") << name;
    EXPECT_EQ(start(name), "uniform 0.250000") << name;
  }
  EXPECT_EQ(kaiming("conv"), "uniform 0.577350");
  EXPECT_EQ(xavier("conv"), "uniform 0.258199");
  EXPECT_EQ(kaiming("transposed"), "uniform 0.333333");
  EXPECT_EQ(xavier("transposed"), "uniform 0.258199");
  EXPECT_EQ(kaiming("w"), "uniform 1.095445");
  EXPECT_EQ(xavier("w"), "uniform 0.534522");
  EXPECT_EQ(kaiming("r"), "uniform 1.224745");
  EXPECT_EQ(xavier("r"), "uniform 0.547723");
  EXPECT_EQ(kaiming("table"), "uniform 0.866025");
  EXPECT_EQ(xavier("table"), "uniform 0.462910");
}

/// What PyTorch's own layers draw from: U(-b, b) with b of 1 / sqrt(inputs), of
/// a transposed convolution as torch counts them.
TEST_F(InitialWeightsTest, OfTransposedConvolutionsCountOutputs) {
  weight("k", {4, 4, 2, 2});
  weight("b", {4});
  model_.node("ConvTranspose", {"x", "k", "b"}, {"y"});
  EXPECT_EQ(start("k"), "uniform 0.250000");
  EXPECT_EQ(start("b"), "uniform 0.250000");
}

TEST_F(InitialWeightsTest, OfNormalizationsAreOneAndZero) {
  for (const char *name : {"scale", "shift", "mean", "var"})
    weight(name, {4});
  model_.node("BatchNormalization", {"x", "scale", "shift", "mean", "var"},
              {"y"});
  EXPECT_EQ(start("scale"), "constant 1.000000");
  EXPECT_EQ(start("shift"), "zeros");
  EXPECT_EQ(start("mean"), "zeros");
  EXPECT_EQ(start("var"), "constant 1.000000");
}

/// nn.PReLU().weight; exporters give it the rank of the image.
TEST_F(InitialWeightsTest, OfPReluAreAQuarter) {
  weight("slope", {4});
  weight("one", {1});
  model_.node("Reshape", {"slope", "shape"}, {"s"})
      .node("PRelu", {"x", "s"}, {"y"})
      .node("PRelu", {"y", "one"}, {"z"});
  for (const char *name : {"slope", "one"}) {
    EXPECT_EQ(start(name), "constant 0.250000") << name;
    EXPECT_EQ(start(name, "kaiming_uniform"), "constant 0.250000") << name;
  }
}

TEST_F(InitialWeightsTest, OfEmbeddingsAndRecurrentLayers) {
  weight("table", {20, 8});
  weight("r", {16, 4});
  model_.node("Gather", {"table", "ids"}, {"e"})
      .node("Unsqueeze", {"r"}, {"r1"})
      .node("LSTM", {"e", "w", "r1"}, {"h"})
      .with("hidden_size", 4);
  EXPECT_EQ(start("table"), "normal 1.000000");
  EXPECT_EQ(start("r"), "uniform 0.500000");
}

/// As nn.MultiheadAttention(8, 2) does: its projections by xavier_uniform_.
TEST_F(InitialWeightsTest, OfAttentionAreItsOwn) {
  weight("attn.in_proj_weight", {24, 8});
  weight("attn.in_proj_bias", {24});
  weight("attn.out_proj.weight", {8, 8});
  weight("attn.out_proj.bias", {8});
  weight("other.out_proj.bias", {8});
  model_.node("Gemm", {"x", "attn.in_proj_weight", "attn.in_proj_bias"}, {"a"})
      .with("transB", 1)
      .node("Gemm", {"a", "attn.out_proj.weight", "attn.out_proj.bias"}, {"b"})
      .with("transB", 1)
      .node("Gemm", {"b", "attn.out_proj.weight", "other.out_proj.bias"}, {"c"})
      .with("transB", 1);
  EXPECT_EQ(start("attn.in_proj_weight"), "uniform 0.433013");
  EXPECT_EQ(start("attn.in_proj_bias"), "zeros");
  EXPECT_EQ(start("attn.out_proj.weight"), "uniform 0.353553");
  EXPECT_EQ(start("attn.out_proj.bias"), "zeros");
  EXPECT_EQ(start("other.out_proj.bias"), "uniform 0.353553");
}

TEST_F(InitialWeightsTest, OfABiasBesideWhatIsMadeFromItself) {
  weight("y.bias", {10});
  model_.node("Gemm", {"x", "one", "y.bias"}, {"y"})
      .node("Identity", {"other"}, {"one"})
      .node("Identity", {"one"}, {"other"});
  EXPECT_EQ(start("y.bias"), "zeros");
}

TEST_F(InitialWeightsTest, FallBackOnNames) {
  weight("odd.bias", {3});
  weight("odd.gain", {3});
  weight("positions", {1, 7, 3});
  EXPECT_EQ(start("odd.bias"), "zeros");
  EXPECT_EQ(start("odd.gain"), "constant 1.000000");
  EXPECT_EQ(start("positions"), "normal 0.020000");
}

} // namespace
