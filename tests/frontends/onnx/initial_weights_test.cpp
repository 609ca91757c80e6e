// Weights without data start as PyTorch's layers of their kind do.

#include "frontends/onnx/initial_weights.h"

#include "small_model.h"

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
  EXPECT_EQ(start("w", "kaiming_uniform"), "kaiming_uniform");
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

TEST_F(InitialWeightsTest, FallBackOnNames) {
  weight("odd.bias", {3});
  weight("odd.gain", {3});
  weight("positions", {1, 7, 3});
  EXPECT_EQ(start("odd.bias"), "zeros");
  EXPECT_EQ(start("odd.gain"), "constant 1.000000");
  EXPECT_EQ(start("positions"), "normal 0.020000");
}

} // namespace
