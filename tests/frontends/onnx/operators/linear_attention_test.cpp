// Ops that carry a state along a sequence.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

TEST(LinearAttention, ConvolvesWithWhatCameBefore) {
  SmallModel model;
  model.input("x", {1, 1, 3})
      .input("past", {1, 1, 1})
      .floats("w", {1, 1, 2}, {10, 1})
      .node("CausalConvWithState", {"x", "w", "", "past"}, {"y", "state"})
      .output("y")
      .output("state");
  Imported imported = import(model);
  auto outputs = evaluate(
      imported, {tensor({1, 1, 3}, {1, 2, 3}), tensor({1, 1, 1}, {5})});
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].floats, (Values{51, 12, 23}));
  EXPECT_EQ(outputs[1].floats, (Values{3}));
}

/// One head, keys and values of one element.
static std::vector<HostTensor> attended(const char *rule, bool gated) {
  SmallModel model;
  model.input("q", {1, 2, 1}).input("k", {1, 2, 1}).input("v", {1, 2, 1});
  model.input("decay", {1, 2, 1});
  model.node("LinearAttention", {"q", "k", "v", "", gated ? "decay" : ""},
             {"y", "state"});
  model.with("q_num_heads", 1)
      .with("kv_num_heads", 1)
      .with("update_rule", rule)
      .output("y")
      .output("state");
  Imported imported = import(model);
  return evaluate(imported,
                  {tensor({1, 2, 1}, {1, 2}), tensor({1, 2, 1}, {3, 1}),
                   tensor({1, 2, 1}, {5, 7}),
                   tensor({1, 2, 1}, {0, std::log(0.5)})});
}

TEST(LinearAttention, AddsUpKeysTimesValues) {
  auto outputs = attended("linear", false);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_EQ(outputs[0].floats, (Values{15, 2 * 22}));
  EXPECT_EQ(outputs[1].floats, (Values{22}));
}

TEST(LinearAttention, ForgetsAsTheDecaySays) {
  auto outputs = attended("gated", true);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_NEAR(outputs[1].floats[0], 7.5 + 7, 1e-9);
}

TEST(LinearAttention, RefusesWhatDoesNotFit) {
  SmallModel model;
  model.input("q", {1, 2, 3})
      .node("LinearAttention", {"q", "q", "q"}, {"y"})
      .with("q_num_heads", 2)
      .with("kv_num_heads", 1)
      .output("y");
  EXPECT_EQ(import(model).error,
            "node \"the LinearAttention\" (LinearAttention): q_num_heads is 2 "
            "and kv_num_heads 1, which do not fit 3 channels");
}
