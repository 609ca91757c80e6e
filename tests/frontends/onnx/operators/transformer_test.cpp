// Softmax and layer normalization as models write them.

#include "tests/frontends/onnx/small_model.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

TEST(Transformer, SoftmaxOfOldFlattens) {
  SmallModel model;
  model.setOpset(11).input("x", {1, 2, 2}).node("Softmax", {"x"}, {"y"});
  EXPECT_EQ(
      evaluate(model.output("y"), {tensor({1, 2, 2}, {1, 1, 1, 1})}).floats,
      Values(4, 0.25));
  SmallModel later;
  later.input("x", {1, 2, 2}).node("Softmax", {"x"}, {"y"}).with("axis", 1);
  EXPECT_EQ(
      evaluate(later.output("y"), {tensor({1, 2, 2}, {1, 1, 1, 1})}).floats,
      Values(4, 0.5));
}

TEST(Transformer, SoftmaxHasAnAxis) {
  SmallModel model;
  model.input("x", {2}).node("LogSoftmax", {"x"}, {"y"}).with("axis", 1);
  EXPECT_EQ(import(model.output("y")).error,
            "node \"the LogSoftmax\" (LogSoftmax): axis 1 is out of range for "
            "rank 1");
}

static SmallModel layerNorm(const Shape &scale) {
  SmallModel model;
  model.input("x", {1, 2})
      .floats("s", scale, std::vector<float>(scale[0], 10))
      .node("LayerNormalization", {"x", "s"}, {"y", "m", "d"})
      .withNumber("epsilon", 0);
  return model;
}

TEST(Transformer, NormalizesAndGivesItsStatistics) {
  HostTensor x = tensor({1, 2}, {3, 7});
  EXPECT_EQ(evaluate(layerNorm({2}).output("y"), {x}).floats,
            (Values{-10, 10}));
  EXPECT_EQ(evaluate(layerNorm({1}).output("y"), {x}).floats,
            (Values{-10, 10}));
  EXPECT_EQ(evaluate(layerNorm({2}).output("m"), {x}).floats, (Values{5}));
  EXPECT_EQ(evaluate(layerNorm({2}).output("d"), {x}).floats, (Values{0.5}));
  EXPECT_EQ(import(layerNorm({3}).output("y")).error,
            "node \"the LayerNormalization\" (LayerNormalization): its input "
            "\"s\" has shape [3], expected [2]");
}

TEST(Transformer, NormalizesByTheRootMeanSquare) {
  SmallModel model;
  model.input("x", {1, 2}).floats("s", {2}, {1, 2});
  model.node("RMSNormalization", {"x", "s"}, {"y"}).withNumber("epsilon", 0);
  EXPECT_EQ(evaluate(model.output("y"), {tensor({1, 2}, {5, 5})}).floats,
            (Values{1, 2}));
}
