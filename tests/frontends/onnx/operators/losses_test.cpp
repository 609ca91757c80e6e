// Losses as nodes: reductions, weights, labels that do not count.

#include "tests/frontends/onnx/small_model.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

/// Log-probabilities -1, -2, -4 of three classes for each of three samples.
static SmallModel loss(bool weighted) {
  SmallModel model;
  model.input("x", {3, 3})
      .integers("l", {3}, {0, 2, 1})
      .floats("w", {3}, {1, 10, 3});
  std::vector<std::string> inputs = {"x", "l"};
  if (weighted)
    inputs.push_back("w");
  return model.node("NegativeLogLikelihoodLoss", inputs, {"y"});
}

static Values run(SmallModel model) {
  HostTensor x = zeros({3, 3});
  x.floats = {-1, -2, -4, -1, -2, -4, -1, -2, -4};
  return evaluate(model.output("y"), {x}).floats;
}

TEST(Losses, AreReduced) {
  EXPECT_EQ(run(loss(false).with("reduction", "none")), (Values{1, 4, 2}));
  EXPECT_EQ(run(loss(false).with("reduction", "sum")), (Values{7}));
  EXPECT_NEAR(run(loss(false))[0], 7.0 / 3, 1e-12);
  EXPECT_NE(
      import(loss(false).with("reduction", "max").output("y"))
          .error.find(
              "reduction is \"max\", expected \"none\", \"sum\" or \"mean\""),
      std::string::npos);
}

TEST(Losses, AreWeighedAndIgnoreLabels) {
  EXPECT_NEAR(run(loss(true))[0], (1.0 + 12 + 20) / 14, 1e-12);
  EXPECT_NEAR(run(loss(true).with("ignore_index", 1))[0], 13.0 / 4, 1e-12);
}

TEST(Losses, LookUpNoLabelThatIsIgnored) {
  for (bool ignores : {false, true}) {
    SmallModel model;
    model.input("x", {2, 3})
        .input("l", {2}, ::onnx::TensorProto::INT64)
        .floats("w", {3}, {1, 10, 3})
        .node("NegativeLogLikelihoodLoss", {"x", "l", "w"}, {"y"});
    if (ignores)
      model.with("ignore_index", -100);
    Imported imported = import(model.output("y"));
    ASSERT_EQ(imported.error, "");
    // Inputs that are looked up as they are must be indices.
    imported.predict().walk([&](GatherOp gather) {
      EXPECT_EQ(!mlir::isa<mlir::BlockArgument>(gather.getIndices()), ignores);
    });
    HostTensor x = zeros({2, 3});
    x.floats = {-1, -2, -4, -1, -2, -4};
    HostTensor labels{{2}, false, {}, {1, ignores ? -100 : 2}};
    EXPECT_NEAR(evaluate(imported, {x, labels})[0].floats[0],
                ignores ? 2 : 32.0 / 13, 1e-12);
  }
}

TEST(Losses, HaveASoftmaxInFront) {
  SmallModel model;
  model.input("x", {1, 2}).integers("l", {1}, {0});
  model.node("SoftmaxCrossEntropyLoss", {"x", "l"}, {"y", "p"});
  EXPECT_NEAR(evaluate(model.output("y"), {zeros({1, 2})}).floats[0],
              std::log(2), 1e-12);
  SmallModel wrong;
  wrong.input("x", {1, 2}).integers("l", {2}, {0, 1});
  wrong.node("SoftmaxCrossEntropyLoss", {"x", "l"}, {"y"});
  EXPECT_NE(
      import(wrong.output("y"))
          .error.find("labels of shape [2] do not fit scores of shape [1, 2]"),
      std::string::npos);
}
