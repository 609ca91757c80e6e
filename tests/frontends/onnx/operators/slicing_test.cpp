// Parts of values, and parts put together: what comes out, and what is refused.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

static Values run(SmallModel model, const Shape &shape) {
  return evaluate(model.output("y"), {counted(shape)}).floats;
}

TEST(Slicing, SlicesForwardsAndBackwards) {
  SmallModel model;
  model.input("x", {2, 4})
      .integers("starts", {2}, {-1, 1})
      .integers("ends", {2}, {INT64_MIN, 100})
      .integers("axes", {2}, {0, 1})
      .integers("steps", {2}, {-1, 2})
      .node("Slice", {"x", "starts", "ends", "axes", "steps"}, {"y"});
  EXPECT_EQ(run(model, {2, 4}), (Values{5, 7, 1, 3}));
}

TEST(Slicing, SlicesByAttributesBeforeOpset10) {
  SmallModel model;
  model.setOpset(9).input("x", {4}).node("Slice", {"x"}, {"y"});
  model.with("starts", Shape{1}).with("ends", Shape{-1});
  EXPECT_EQ(run(model, {4}), (Values{1, 2}));
}

TEST(Slicing, SplitsIntoGivenOrEvenParts) {
  SmallModel given;
  given.input("x", {5}).integers("parts", {2}, {2, 3});
  given.node("Split", {"x", "parts"}, {"a", "y"});
  EXPECT_EQ(run(given, {5}), (Values{2, 3, 4}));
  SmallModel even;
  even.input("x", {5}).node("Split", {"x"}, {"a", "y"}).with("num_outputs", 2);
  EXPECT_EQ(run(even, {5}), (Values{3, 4}));
  SmallModel wrong;
  wrong.input("x", {5}).integers("parts", {2}, {2, 2});
  wrong.node("Split", {"x", "parts"}, {"a", "y"});
  EXPECT_EQ(errorOf(wrong), "node \"the Split\" (Split): cuts an axis of size "
                            "5 into parts of [2, 2]");
}

TEST(Slicing, ComparesNumOutputsWithItsOutputs) {
  for (int64_t parts : {int64_t(2), int64_t(1000000000), INT64_MAX})
    for (bool given : {false, true}) {
      SmallModel model;
      model.input("x", {5}).integers("parts", {2}, {2, 3});
      model.node("Split", {"x", given ? "parts" : ""}, {"a", "y"});
      EXPECT_EQ(errorOf(model.with("num_outputs", parts)),
                parts == 2
                    ? ""
                    : "node \"the Split\" (Split): num_outputs is " +
                          std::to_string(parts) + ", but it has 2 outputs");
    }
}

TEST(Slicing, JoinsOnlyTensorsOfOneRank) {
  SmallModel model;
  model.floats("x", {0}, {}).input("z", {});
  model.node("Concat", {"x", "z"}, {"y"}).with("axis", 0);
  EXPECT_EQ(errorOf(model), "node \"the Concat\" (Concat): its inputs do not "
                            "fit together along axis 0");
}

TEST(Slicing, TakesApartAndJoinsSequences) {
  SmallModel model;
  model.input("x", {4})
      .integers("two", {}, {2})
      .integers("last", {}, {-1})
      .node("SplitToSequence", {"x", "two"}, {"s"})
      .node("SequenceAt", {"s", "last"}, {"a"})
      .node("ConcatFromSequence", {"s"}, {"b"})
      .with("axis", 0)
      .node("Concat", {"a", "b"}, {"y"})
      .with("axis", 0);
  EXPECT_EQ(run(model, {4}), (Values{2, 3, 0, 1, 2, 3}));
  SmallModel tensor;
  tensor.input("x", {4}).integers("last", {}, {0});
  tensor.node("SequenceAt", {"x", "last"}, {"y"});
  EXPECT_EQ(errorOf(tensor), "node \"the SequenceAt\" (SequenceAt): its input "
                             "\"x\" is no sequence");
}
