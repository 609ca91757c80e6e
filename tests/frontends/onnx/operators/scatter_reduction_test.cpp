// Scatters by maximum, minimum and product.

#include "frontends/onnx/operators/scatter_reduction.h"

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

/// Rows [1, 5] and [8, 2] of updates that both go to row 1 of [3, 2], last row
/// the data's own.
static SmallModel rows(const char *reduction) {
  SmallModel model;
  model.input("x", {3, 2})
      .input("u", {2, 2})
      .integers("i", {2, 1}, {1, -2})
      .node("ScatterND", {"x", "i", "u"}, {"y"});
  return model.with("reduction", reduction);
}

static Values run(SmallModel model) {
  return evaluate(model.output("y"), {tensor({3, 2}, {0, 1, 2, 3, 4, 5}),
                                      tensor({2, 2}, {1, 5, 8, 2})})
      .floats;
}

TEST(ScatterReduction, CombinesAllThatComesToAPlace) {
  EXPECT_EQ(run(rows("max")), (Values{0, 1, 8, 5, 4, 5}));
  EXPECT_EQ(run(rows("min")), (Values{0, 1, 1, 2, 4, 5}));
  EXPECT_EQ(run(rows("mul")), (Values{0, 1, 16, 30, 4, 5}));
}

/// Each element goes its own way; what the indices do not reach stays.
TEST(ScatterReduction, ScattersElementsOfAPart) {
  SmallModel model;
  model.input("x", {3, 2})
      .input("u", {2, 2})
      .integers("i", {2, 1}, {2, 0})
      .integers("from", {1}, {0})
      .integers("to", {1}, {1})
      .integers("axis", {1}, {1})
      .node("Slice", {"u", "from", "to", "axis"}, {"column"})
      .node("ScatterElements", {"x", "i", "column"}, {"y"})
      .with("axis", 0)
      .with("reduction", "max");
  EXPECT_EQ(run(model), (Values{8, 1, 2, 3, 4, 5}));
}

TEST(ScatterReduction, RefusesIntegers) {
  SmallModel model;
  model.input("x", {3}, ::onnx::TensorProto::INT64)
      .integers("i", {1, 1}, {1})
      .integers("u", {1}, {7})
      .node("ScatterND", {"x", "i", "u"}, {"y"})
      .with("reduction", "max")
      .output("y");
  EXPECT_EQ(import(model).error,
            "node \"the ScatterND\" (ScatterND): reduction is \"max\"; "
            "integers are supported with \"none\" and \"add\"");
}
