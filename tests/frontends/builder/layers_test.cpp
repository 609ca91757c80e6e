// Layers and functions of the builder against numbers worked out by hand.

#include "built_net.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

static HostTensor integers(const Shape &shape,
                           const std::vector<int64_t> &values) {
  return {llvm::SmallVector<int64_t>(shape.begin(), shape.end()),
          false,
          {},
          values};
}

class BuilderLayers : public BuiltNet {
protected:
  /// The only output.
  Values evaluate(Tensor result, const std::vector<HostTensor> &inputs) {
    net.output("y", result);
    return BuiltNet::evaluate(inputs);
  }

  /// Zero or, where the rule is a constant, that.
  double initial(StateOp state) const override {
    return state.getInit()->getRule() == Initializer::constant
               ? state.getInit()->getValue().getValueAsDouble()
               : 0;
  }
};

TEST_F(BuilderLayers, DenseTakesAnyRank) {
  Tensor y = net.dense("fc", net.input("x", {2, 3, 4}), 5);
  EXPECT_EQ(y.shape(), (Shape{2, 3, 5}));
}

TEST_F(BuilderLayers, DenseRefusesVectors) {
  net.output("y", net.dense("fc", net.input("x", {4}), 5));
  EXPECT_EQ(mistake(),
            "net: fc: its input has shape [4], expected rank 2 or more");
}

TEST_F(BuilderLayers, BatchNormStartsAsTheIdentity) {
  Tensor x = net.input("x", {1, 2, 2});
  Values y =
      evaluate(net.batchNorm("bn", x, 0), {reals({1, 2, 2}, {1, 2, 3, 4})});
  EXPECT_EQ(y, (Values{1, 2, 3, 4}));
}

TEST_F(BuilderLayers, BatchNormKeepsRunningStatistics) {
  net.output("y", net.batchNorm("bn", net.input("x", {1, 2, 2})));
  auto module = net.finish();
  ASSERT_TRUE(module.ok()) << module.status();
  ProgramOp program = *(*module)->getOps<ProgramOp>().begin();
  EXPECT_EQ(program.getState("bn.running_var").getRole(), Role::buffer);
  EXPECT_EQ(program.getState("bn.weight").getRole(), Role::parameter);
}

TEST_F(BuilderLayers, LayerNormLeavesMeanZero) {
  Tensor x = net.input("x", {2, 2});
  EXPECT_EQ(
      evaluate(net.layerNorm("ln", x, 0), {reals({2, 2}, {1, 3, 5, 5.5})}),
      (Values{-1, 1, -1, 1}));
}

TEST_F(BuilderLayers, GeluHasTwoForms) {
  Tensor x = net.input("x", {1});
  double near = evaluate(net.gelu(x, /*byTanh=*/true), {reals({1}, {1})})[0];
  EXPECT_NEAR(near, 0.841192, 1e-6); // exact: 0.841345
}

TEST_F(BuilderLayers, ScalesAndPools) {
  Tensor x = net.input("x", {1, 1, 2, 2});
  EXPECT_EQ(evaluate(net.globalAveragePool(net.scale(x, 2)),
                     {reals({1, 1, 2, 2}, {1, 2, 3, 4})}),
            (Values{5}));
}

TEST_F(BuilderLayers, MultipliesByOneMatrixOrByMany) {
  Tensor a = net.input("a", {2, 1, 2}), b = net.input("b", {2, 2});
  Tensor each = net.matmul(a, b, /*transposeB=*/true);
  EXPECT_EQ(
      evaluate(net.matmul(each, net.reshape(each, {2, 2, 1})),
               {reals({2, 1, 2}, {1, 0, 0, 1}), reals({2, 2}, {1, 2, 3, 4})}),
      (Values{10, 20})); // rows [1, 3] and [2, 4], each by itself
}

TEST_F(BuilderLayers, RefusesProductsThatDoNotFit) {
  net.output("y", net.matmul(net.input("a", {2, 3}), net.input("b", {3, 2}),
                             /*transposeB=*/true));
  EXPECT_EQ(mistake(), "net: matmul: shapes [2, 3] and [3, 2] do not multiply, "
                       "the second transposed");
}

TEST_F(BuilderLayers, SlicesAndTransposes) {
  Tensor x = net.slice(net.input("x", {2, 3}), 1, 1, 2);
  EXPECT_EQ(
      evaluate(net.transpose(x, {1, 0}), {reals({2, 3}, {1, 2, 3, 4, 5, 6})}),
      (Values{2, 5, 3, 6}));
}

TEST_F(BuilderLayers, RefusesPlacesThatAreNotThere) {
  net.output("y", net.slice(net.input("x", {2, 3}), 1, 2, 2));
  EXPECT_EQ(mistake(), "net: slice: [2, 3] has no places 2 to 3 along axis 1");
}

TEST_F(BuilderLayers, RefusesWhatIsNoPermutation) {
  net.output("y", net.transpose(net.input("x", {2, 3}), {0, 0}));
  EXPECT_EQ(mistake(),
            "net: transpose: [0, 0] does not permute the axes of [2, 3]");
}

TEST_F(BuilderLayers, LooksRowsUp) {
  Tensor ids = net.integerInput("ids", {1, 2});
  Tensor table = net.constant({3, 2}, {0, 1, 2, 3, 4, 5});
  EXPECT_EQ(evaluate(net.lookUp(table, ids), {integers({1, 2}, {2, 0})}),
            (Values{4, 5, 0, 1}));
}

TEST_F(BuilderLayers, LooksUpByIntegersOnly) {
  net.output("y", net.lookUp(net.input("t", {3, 2}), net.input("x", {1})));
  EXPECT_EQ(mistake(), "net: look_up: expected integers");
}

TEST_F(BuilderLayers, RefusesInputsOfTooFewAxes) {
  net.output("y", net.softmax(net.input("x", {})));
  EXPECT_EQ(mistake(), "net: softmax: its input is a scalar");
}

//===-- attention ---------------------------------------------------------===//

/// Two heads of one feature each; equal scores, so that what a query sees is
/// averaged.
class AttentionLayer : public BuilderLayers {
protected:
  Values attend(const AttentionOptions &options,
                const std::vector<HostTensor> &more = {}) {
    std::vector<HostTensor> inputs = more;
    inputs.push_back(reals({1, 2, 2}, {1, 10, 3, 30}));
    Tensor value = net.input("v", {1, 2, 2}), zero = net.scale(value, 0);
    return evaluate(net.attention(zero, zero, value, 2, options), inputs);
  }
};

TEST_F(AttentionLayer, AllSeeAll) {
  EXPECT_EQ(attend({}), (Values{2, 20, 2, 20}));
}

TEST_F(AttentionLayer, CausalSeesNothingLater) {
  EXPECT_EQ(attend({.causal = true}), (Values{1, 10, 2, 20}));
}

TEST_F(AttentionLayer, AMaskHidesKeys) {
  Tensor mask = net.integerInput("mask", {1, 2});
  EXPECT_EQ(attend({.mask = mask}, {integers({1, 2}, {0, 1})}),
            (Values{3, 30, 3, 30}));
}

TEST_F(AttentionLayer, WithoutAKeyGivesZeros) {
  Tensor mask = net.integerInput("mask", {1, 2});
  EXPECT_EQ(attend({.mask = mask}, {integers({1, 2}, {0, 0})}),
            (Values{0, 0, 0, 0}));
}

TEST_F(AttentionLayer, RefusesKeysThatDoNotFit) {
  Tensor x = net.input("x", {1, 2, 4}), key = net.input("key", {1, 3, 6});
  net.output("y", net.attention(x, key, key, 2));
  EXPECT_EQ(mistake(), "net: attention: queries of shape [1, 2, 4] do not fit "
                       "keys of shape [1, 3, 6] and values of shape [1, 3, 6]");
}

TEST_F(AttentionLayer, BothAtOnce) {
  Tensor mask = net.integerInput("mask", {1, 2});
  EXPECT_EQ(attend({.causal = true, .mask = mask}, {integers({1, 2}, {1, 0})}),
            (Values{1, 10, 1, 10}));
}

TEST_F(AttentionLayer, RefusesHeadsThatDoNotDivide) {
  Tensor x = net.input("x", {1, 2, 3});
  net.output("y", net.attention(x, x, x, 2));
  EXPECT_EQ(mistake(), "net: attention: 3 features do not divide into 2 heads");
}

TEST_F(AttentionLayer, RefusesMasksOfAnotherShape) {
  Tensor x = net.input("x", {1, 2, 4});
  Tensor mask = net.integerInput("mask", {1, 3});
  net.output("y", net.attention(x, x, x, 2, {.mask = mask}));
  EXPECT_EQ(mistake(),
            "net: attention: its mask has shape [1, 3], expected [1, 2]");
}
