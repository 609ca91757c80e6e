// Second moments of both sides of layers, on numbers.

#include "passes/local/layer_moments.h"

#include "ir/build.h"
#include "passes/preconditioning.h"

#include "../program_text.h"

#include <cmath>
#include <random>

using namespace gradus;
using gradus::testing::PassText;
using mlir::Value;

namespace {

constexpr int64_t kRows = 8;

/// The layers of the gradient `%dw` of a graph with two inputs of 3 features
/// and the gradients of two outputs of 2, 8 rows each.
class Moments {
public:
  Moments(const std::string &ops, const std::string &type)
      : text_(R"(
gradus.program @p {
  gradus.state @w : )" +
              type +
              R"( {role = #gradus.role<parameter>, init = #gradus.init<zeros>}
  gradus.graph @train(%x: tensor<8x3xf32>, %z: tensor<8x3xf32>, %t: tensor<8x2xf32>) -> () {
    %dy = math.sin %t : tensor<8x2xf32>
    %dz = math.cos %t : tensor<8x2xf32>
    %xy = gradus.matmul %dy transposed, %x : tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
    %zz = gradus.matmul %dz transposed, %z : tensor<8x2xf32>, tensor<8x3xf32> -> tensor<2x3xf32>
)" + ops + R"(
    gradus.update @w, %dw : )" +
              type + R"(
    gradus.return
  }
})") {
    train_ = text_.program().getGraph("train");
    update_ = *train_.getBody().front().getOps<ParameterUpdate>().begin();
    std::string reason;
    auto found = layersOf(update_, ForwardPass(train_), reason);
    EXPECT_TRUE(found) << reason;
    layers = *found;
    std::mt19937 bits(3);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (Value input : train_.getBody().getArguments()) {
      inputs.push_back(zeros(tensorType(input)));
      for (double &number : inputs.back().floats)
        number = uniform(bits);
    }
  }

  HostTensor moments(bool isInputs, int64_t block) {
    mlir::OpBuilder builder(train_.getBody().front().getTerminator());
    train_.addOutput("m", momentsOf(builder, layers, isInputs, block));
    update_->erase(); // which is no arithmetic yet
    StateMap states;
    auto results = evaluateGraph(train_, inputs, states);
    EXPECT_TRUE(succeeded(results)) << text_.messages;
    return results->front();
  }

  FactorsOp factors(Value side) {
    mlir::OpBuilder builder(train_.getBody().front().getTerminator());
    return addFactors(builder, update_, layers, side, {});
  }

  mlir::RankedTensorType weight() {
    return tensorType(update_.getGradientUse().get());
  }

  /// The mean over rows of the product of two features of an input.
  double mean(int input, int i, int j) const {
    double total = 0;
    for (int row = 0; row < kRows; ++row)
      total +=
          inputs[input].floats[3 * row + i] * inputs[input].floats[3 * row + j];
    return total / kRows;
  }

  WeightLayers layers;
  std::vector<HostTensor> inputs;

private:
  PassText text_;
  GraphOp train_;
  ParameterUpdate update_;
};

} // namespace

TEST(LayerMoments, AreMeansOverTheRowsOfAllUses) {
  Moments of("    %dw = arith.addf %xy, %zz : tensor<2x3xf32>",
             "tensor<2x3xf32>");
  HostTensor found = of.moments(/*isInputs=*/true, /*block=*/128);
  ASSERT_EQ(found.shape, (llvm::SmallVector<int64_t>{1, 3, 3}));
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j)
      EXPECT_NEAR(found.floats[3 * i + j],
                  (of.mean(0, i, j) + of.mean(1, i, j)) / 2, 1e-6);
}

/// Three features in blocks of two: the last is padded with zeros.
TEST(LayerMoments, AreCutIntoBlocks) {
  Moments of("    %dw = arith.addf %xy, %xy : tensor<2x3xf32>",
             "tensor<2x3xf32>");
  HostTensor found = of.moments(/*isInputs=*/true, /*block=*/2);
  ASSERT_EQ(found.shape, (llvm::SmallVector<int64_t>{2, 2, 2}));
  std::vector<double> expected = {of.mean(0, 0, 0),
                                  of.mean(0, 0, 1),
                                  of.mean(0, 1, 0),
                                  of.mean(0, 1, 1),
                                  of.mean(0, 2, 2),
                                  0,
                                  0,
                                  0};
  for (size_t place = 0; place < expected.size(); ++place)
    EXPECT_NEAR(found.floats[place], expected[place], 1e-6);
}

/// Two layers next to each other, with inputs of their own.
TEST(LayerMoments, AreThoseOfOneLayerAfterTheOther) {
  Moments of("    %dw = gradus.concatenate %xy, %zz axis 0 : tensor<2x3xf32>, "
             "tensor<2x3xf32> -> tensor<4x3xf32>",
             "tensor<4x3xf32>");
  EXPECT_EQ(of.layers.groups, 2);
  EXPECT_EQ(featuresOf(of.layers, of.weight(), /*isInputs=*/true), 3);
  EXPECT_EQ(featuresOf(of.layers, of.weight(), /*isInputs=*/false), 2);
  HostTensor found = of.moments(/*isInputs=*/true, /*block=*/128);
  ASSERT_EQ(found.shape, (llvm::SmallVector<int64_t>{2, 3, 3}));
  for (int layer = 0; layer < 2; ++layer)
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j)
        EXPECT_NEAR(found.floats[9 * layer + 3 * i + j], of.mean(layer, i, j),
                    1e-6);
}

TEST(LayerMoments, OfOutputsAreOfTheirGradients) {
  Moments of("    %dw = arith.addf %xy, %xy : tensor<2x3xf32>",
             "tensor<2x3xf32>");
  HostTensor found = of.moments(/*isInputs=*/false, /*block=*/128);
  ASSERT_EQ(found.shape, (llvm::SmallVector<int64_t>{1, 2, 2}));
  double total = 0;
  for (int row = 0; row < kRows; ++row)
    total += std::pow(2 * std::sin(of.inputs[2].floats[2 * row]), 2) / kRows;
  EXPECT_NEAR(found.floats[0], total, 1e-6);
}

/// Layers that are parts of a weight's inputs are told by their factors.
TEST(LayerMoments, HaveTheFormOfTheirLayersInFactors) {
  Moments of("    %dw = gradus.concatenate %xy, %zz axis 1 : tensor<2x3xf32>, "
             "tensor<2x3xf32> -> tensor<2x6xf32>",
             "tensor<2x6xf32>");
  FactorsOp factors = of.factors({});
  EXPECT_EQ(factors.getParameter(), "w");
  EXPECT_EQ(factors.getKind(), "dense");
  EXPECT_EQ(factors.getAxes(), llvm::ArrayRef<int64_t>{1});
  EXPECT_EQ(factors.getGroups(), 2u);
  EXPECT_EQ(factors.getPositions(), 1u);
  EXPECT_TRUE(factors->hasAttr(kGroupedInputs));
  EXPECT_EQ(positionsOf(of.layers), 1);
}
