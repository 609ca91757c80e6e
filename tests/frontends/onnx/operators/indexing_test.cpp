// Reads and writes at indices: what comes out, and what is refused.

#include "tests/frontends/onnx/written.h"

#include <cmath>

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

static Values run(SmallModel model, const Shape &shape) {
  return evaluate(model.output("y"), {counted(shape)}).floats;
}

TEST(Indexing, GathersAlongAnAxis) {
  SmallModel model;
  model.input("x", {2, 3})
      .integers("i", {3}, {2, 0, -1})
      .node("Gather", {"x", "i"}, {"y"})
      .with("axis", 1);
  EXPECT_EQ(run(model, {2, 3}), (Values{2, 0, 2, 5, 3, 5}));
  SmallModel outside;
  outside.input("x", {2, 3}).integers("i", {}, {2});
  outside.node("Gather", {"x", "i"}, {"y"});
  EXPECT_EQ(errorOf(outside), "node \"the Gather\" (Gather): index 2 is out of "
                              "range for 2 elements");
}

TEST(Indexing, GathersOneElementEach) {
  SmallModel model;
  model.input("x", {3, 2})
      .integers("i", {1, 2}, {2, 1})
      .node("GatherElements", {"x", "i"}, {"y"})
      .with("axis", 0);
  EXPECT_EQ(run(model, {3, 2}), (Values{4, 3}));
}

TEST(Indexing, GathersAtTuples) {
  SmallModel model;
  model.input("x", {2, 2, 2})
      .integers("i", {3, 2}, {0, 1, 1, -2, 0, 2})
      .node("GatherND", {"x", "i"}, {"y"});
  Values y = run(model, {2, 2, 2});
  EXPECT_EQ(Values(y.begin(), y.begin() + 4), (Values{2, 3, 4, 5}));
  EXPECT_TRUE(std::isnan(y[4]) && std::isnan(y[5]));
  SmallModel batched;
  batched.input("x", {2, 2, 2})
      .integers("i", {2, 1}, {1, 0})
      .node("GatherND", {"x", "i"}, {"y"})
      .with("batch_dims", 1);
  EXPECT_EQ(run(batched, {2, 2, 2}), (Values{2, 3, 4, 5}));
}

TEST(Indexing, ScattersInPlaceOfWhatWasThere) {
  SmallModel model;
  model.input("x", {4})
      .integers("i", {2, 1}, {3, 1})
      .node("Neg", {"x"}, {"n"})
      .integers("some", {2}, {2, 3})
      .node("Gather", {"n", "some"}, {"u"})
      .node("ScatterND", {"x", "i", "u"}, {"y"});
  EXPECT_EQ(run(model, {4}), (Values{0, -3, 2, -2}));
  model.with("reduction", "mean");
  EXPECT_EQ(errorOf(model),
            "node \"the ScatterND\" (ScatterND): reduction is \"mean\", "
            "expected none, add, mul, max or min");
}

/// As rotary embeddings do that turn all of a head.
TEST(Indexing, PutsNothingToWhatIsThere) {
  SmallModel model;
  model.input("x", {2, 3})
      .integers("from", {1}, {3})
      .integers("to", {1}, {9})
      .integers("axis", {1}, {1})
      .node("Slice", {"x", "from", "to", "axis"}, {"none"})
      .node("Sin", {"none"}, {"nothing"})
      .node("Concat", {"nothing", "x"}, {"y"})
      .with("axis", 1);
  EXPECT_EQ(run(model, {2, 3}), (Values{0, 1, 2, 3, 4, 5}));
}

TEST(Indexing, ScattersElementsAlongAnAxis) {
  SmallModel model;
  model.input("x", {2, 3})
      .integers("i", {1, 2}, {1, 1})
      .integers("some", {1}, {0})
      .node("Gather", {"x", "some"}, {"row"})
      .integers("from", {1}, {0})
      .integers("to", {1}, {2})
      .integers("one", {1}, {1})
      .node("Slice", {"row", "from", "to", "one"}, {"u"})
      .node("ScatterElements", {"x", "i", "u"}, {"y"})
      .with("axis", 1)
      .with("reduction", "add");
  EXPECT_EQ(run(model, {2, 3}), (Values{0, 2, 2, 3, 4, 5}));
}

TEST(Indexing, RefusesUpdatesOfAnotherShapeThanTheirIndices) {
  SmallModel model;
  model.input("x", {2, 3})
      .integers("i", {1, 2}, {1, 1})
      .input("u", {2})
      .node("ScatterElements", {"x", "i", "u"}, {"y"})
      .with("axis", 1);
  EXPECT_EQ(errorOf(model),
            "node \"the ScatterElements\" (ScatterElements): its updates have "
            "shape [2], expected that of its indices, [1, 2]");
}

TEST(IndexingExports, TuplesOfIndicesAre64Bits) {
  const std::string at = "%x: tensor<2x3x4xf32>, %at: tensor<2x2xi32>";
  EXPECT_EQ(nodesOf({at,
                     "%y = gradus.gather %x at %at axis 1 batch 1 : "
                     "tensor<2x3x4xf32>, tensor<2x2xi32> -> tensor<2x2x4xf32>",
                     "tensor<2x2x4xf32>"}),
            (Types{"Constant", "Reshape", "Cast", "GatherND"}));
  EXPECT_EQ(nodesOf({"%x: tensor<2x4xf32>, %at: tensor<2xi32>",
                     "%y = gradus.scatter_add %x at %at axis 0 : "
                     "tensor<2x4xf32>, tensor<2xi32> -> tensor<3x4xf32>",
                     "tensor<3x4xf32>"}),
            (Types{"Constant", "Constant", "Reshape", "Cast", "ScatterND"}));
}
