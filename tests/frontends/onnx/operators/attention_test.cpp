// Attention: heads, masks, rows that see nothing; rotary embedding.

#include "tests/frontends/onnx/small_model.h"

#include <cmath>
#include <limits>

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

/// Queries that are all zero weigh all keys alike: the mean of the values that
/// they see.
static SmallModel even(const std::vector<std::string> &more = {}) {
  SmallModel model;
  model.input("v", {1, 1, 3, 1}).floats("q", {1, 1, 3, 1}, {0, 0, 0});
  std::vector<std::string> inputs = {"q", "q", "v"};
  inputs.insert(inputs.end(), more.begin(), more.end());
  return model.node("Attention", inputs, {"y"});
}

static Values run(SmallModel model) {
  return evaluate(model.output("y"), {tensor({1, 1, 3, 1}, {1, 2, 6})}).floats;
}

TEST(Attention, SeesAllOrWhatCameBefore) {
  expectEqual(run(even()), {3, 3, 3});
  expectEqual(run(even().with("is_causal", 1)), {1, 1.5, 3});
  expectEqual(run(even().with("left_window_size", 0).setOpset(25)), {3, 4, 6});
}

TEST(Attention, HasItsSoftmaxInTheTypeThatTheNodeNames) {
  for (int type : {::onnx::TensorProto::DOUBLE, ::onnx::TensorProto::FLOAT})
    expectEqual(
        run(even().with("is_causal", 1).with("softmax_precision", type)),
        {1, 1.5, 3});
  SmallModel model = even().with("softmax_precision", 16).output("y");
  Imported imported = import(model);
  bool rounds = false;
  imported.module->walk([&](SoftmaxOp op) {
    rounds |= mlir::getElementTypeOrSelf(op.getType()).isBF16();
  });
  EXPECT_TRUE(rounds);
  EXPECT_EQ(errorOf(even().with("softmax_precision", 7)),
            "node \"the Attention\" (Attention): softmax_precision is INT64, "
            "expected FLOAT, FLOAT16, DOUBLE or BFLOAT16");
}

TEST(Attention, IsZeroWhereAMaskLeavesNothing) {
  SmallModel model = even({"m"});
  const float no = -INFINITY;
  model.floats("m", {3, 3}, {0, 0, no, no, no, no, no, 0, 0});
  expectEqual(run(model), {1.5, 0, 4});
}

TEST(Attention, IsZeroWhereTheSoftmaxsTypeMakesAMaskInfinite) {
  const std::pair<int, float> masks[] = {
      {::onnx::TensorProto::FLOAT16, -1e9f},
      {::onnx::TensorProto::BFLOAT16, std::numeric_limits<float>::lowest()}};
  for (auto [type, no] : masks) {
    SmallModel model = even({"m"}).with("softmax_precision", type);
    model.floats("m", {3, 3}, {0, 0, no, no, no, no, no, 0, 0});
    expectEqual(run(model), {1.5, 0, 4});
  }
}

TEST(Attention, TakesTwoMasksForOne) {
  SmallModel model = even({"m"}).with("is_causal", 1);
  model.floats("m", {1, 3}, {0, -INFINITY, 0});
  expectEqual(run(model.with("right_window_size", 0).setOpset(25)),
              {1, 1, 3.5});
}

TEST(Attention, SharesHeadsOfKeys) {
  SmallModel model;
  model.input("v", {1, 3, 1}).floats("q", {1, 3, 2}, {0, 0, 0, 0, 0, 0});
  model.floats("k", {1, 3, 1}, {0, 0, 0})
      .node("Attention", {"q", "k", "v"}, {"y"});
  model.with("q_num_heads", 2).with("kv_num_heads", 1).with("is_causal", 1);
  expectEqual(
      evaluate(SmallModel(model).output("y"), {tensor({1, 3, 1}, {1, 2, 6})})
          .floats,
      {1, 1, 1.5, 1.5, 3, 3});
}

TEST(Attention, SaysWhichHeadsAreMissing) {
  SmallModel model;
  model.input("q", {1, 3, 2}).node("Attention", {"q", "q", "q"}, {"y"});
  model.with("q_num_heads", 3).with("kv_num_heads", 1);
  EXPECT_NE(import(model.output("y"))
                .error.find("its input \"q\" of shape [1, 3, 2] has no 3 heads "
                            "(q_num_heads)"),
            std::string::npos);
}

TEST(Attention, TurnsPairsByTheirAngles) {
  for (bool neighbours : {false, true}) {
    SmallModel model;
    model.input("x", {1, 1, 1, 4})
        .floats("c", {1, 1, 2}, {0, 1})
        .floats("s", {1, 1, 2}, {1, 0})
        .node("RotaryEmbedding", {"x", "c", "s"}, {"y"})
        .with("interleaved", int(neighbours));
    expectEqual(
        evaluate(model.output("y"), {tensor({1, 1, 1, 4}, {1, 2, 3, 4})})
            .floats,
        neighbours ? Values{-2, 1, 3, 4} : Values{-3, 2, 1, 4});
  }
}

TEST(Attention, RefusesAnglesThatAreNoRows) {
  SmallModel model;
  model.input("x", {1, 1, 1, 4})
      .floats("c", {2}, {0, 1})
      .integers("at", {1, 1}, {0})
      .node("RotaryEmbedding", {"x", "c", "c", "at"}, {"y"});
  EXPECT_NE(import(model.output("y"))
                .error.find("node \"the RotaryEmbedding\" (RotaryEmbedding): "
                            "its input \"c\" has rank 1, expected 2"),
            std::string::npos);
}
