// Programs written in C++ compute what they say, and remember the first
// mistake.

#include "built_net.h"

using namespace gradus;
using namespace gradus::testing;

namespace {

class Builder : public BuiltNet {
  /// One, but for biases.
  double initial(StateOp state) const override {
    return state.getInit()->getRule() != Initializer::zeros;
  }
};

} // namespace

TEST_F(Builder, WritesALayerOfWeights) {
  net.output("y", net.dense("fc", net.input("x", {1, 3}), 2));
  EXPECT_EQ(evaluate({reals({1, 3}, {1, 2, 3})}), (Values{6, 6}));
}

TEST_F(Builder, WritesAConvolutionalNet) {
  Tensor x = net.input("x", {1, 1, 4, 4});
  x = net.relu(net.convolution("conv", x, 2, {.size = {3, 3}, .pads = {1, 1}}));
  x = net.averagePool(net.maxPool(x, {.size = {2, 2}}), {.size = {2, 2}});
  EXPECT_EQ(x.shape(), (Shape{1, 2, 1, 1}));
  net.output("y", net.flatten(x));
  EXPECT_EQ(evaluate({reals({1, 1, 4, 4}, Values(16, 1))}), (Values{9, 9}));
}

TEST_F(Builder, TakesParametersWithValues) {
  Tensor w = net.parameter("w", {2, 1}, std::vector<float>{3, 4});
  net.output("y", net.add(net.matmul(net.input("x", {1, 2}), w),
                          net.constant({}, {0.5})));
  EXPECT_EQ(evaluate({reals({1, 2}, {1, 10})}), (Values{43.5}));
}

TEST_F(Builder, BroadcastsLikeNumPy) {
  net.output("y", net.multiply(net.input("a", {2, 1}), net.input("b", {2})));
  EXPECT_EQ(evaluate({reals({2, 1}, {1, 2}), reals({2}, {3, 4})}),
            (Values{3, 4, 6, 8}));
}

TEST_F(Builder, AppliesFunctions) {
  Tensor x = net.input("x", {1});
  net.output("y", net.add(net.add(net.tanh(x), net.sigmoid(x)), net.gelu(x)));
  EXPECT_EQ(evaluate({reals({1}, {0})}), (Values{0.5}));
}

TEST_F(Builder, StartsParametersByRule) {
  net.output("y", net.add(net.input("x", {4}),
                          net.parameter("w", {4}, Initializer::normal, 0.02)));
  auto module = net.finish();
  ASSERT_TRUE(module.ok()) << module.status();
  StateOp state = (*(*module)->getOps<ProgramOp>().begin()).getState("w");
  EXPECT_EQ(state.getInit()->getRule(), Initializer::normal);
  EXPECT_EQ(state.getInit()->getValue().getValueAsDouble(), 0.02);
}

TEST_F(Builder, CarriesTheRecipe) {
  net.output("y", net.input("x", {1}));
  mlir::Builder builder(&context_);
  auto recipe = builder.getDictionaryAttr(
      builder.getNamedAttr("seed", builder.getI64IntegerAttr(1)));
  auto module = net.finish(recipe);
  EXPECT_EQ((*(*module)->getOps<ProgramOp>().begin()).getRecipeAttr(), recipe);
}

//===-- mistakes ----------------------------------------------------------===//

TEST_F(Builder, RemembersTheFirstMistake) {
  Tensor x = net.dense("fc", net.input("x", {3}), 4);
  net.output("y", net.relu(net.maxPool(x, {.size = {2, 2}})));
  EXPECT_EQ(mistake(),
            "net: fc: its input has shape [3], expected rank 2 or more");
}

TEST_F(Builder, RefusesWindowsThatDoNotFit) {
  net.output("y", net.convolution("conv", net.input("x", {1, 1, 2, 2}), 1,
                                  {.size = {3, 3}}));
  EXPECT_EQ(mistake(),
            "net: conv: a window of [3, 3] does not fit into [1, 1, 2, 2]");
}

TEST_F(Builder, RefusesUnevenGroups) {
  net.output("y", net.convolution("conv", net.input("x", {1, 3, 2, 2}), 4,
                                  {.size = {1, 1}}, true, 2));
  EXPECT_EQ(mistake(),
            "net: conv: 3 and 4 channels do not divide into 2 groups");
}

TEST_F(Builder, RefusesTheSameNameTwice) {
  net.output("y", net.add(net.parameter("w", {1}), net.parameter("w", {1})));
  EXPECT_EQ(mistake(), "net: two things are called \"w\"");
}

TEST_F(Builder, RefusesShapesThatDoNotGoTogether) {
  net.output("y", net.add(net.input("a", {2}), net.input("b", {3})));
  EXPECT_EQ(mistake(), "net: add: shapes [2] and [3] do not broadcast");
}

TEST_F(Builder, RefusesValuesOfTheWrongNumber) {
  net.output("y", net.constant({2}, {1}));
  EXPECT_EQ(mistake(), "net: constant: 1 values for shape [2]");
}

TEST_F(Builder, RefusesTensorsThatWereNeverMade) {
  net.output("y", Tensor());
  EXPECT_EQ(mistake(), "net: a tensor is used that was never made");
}

TEST_F(Builder, RefusesAProgramWithoutOutputs) {
  net.input("x", {1});
  EXPECT_EQ(mistake(), "net: the program has no outputs");
}
