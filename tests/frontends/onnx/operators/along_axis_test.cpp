// Ops along one axis whose places are known.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

static Values products(bool exclusive, bool reverse) {
  SmallModel model;
  model.input("x", {5})
      .integers("axis", {}, {0})
      .node("CumProd", {"x", "axis"}, {"y"})
      .with("exclusive", int(exclusive))
      .with("reverse", int(reverse))
      .output("y");
  return evaluate(model, {tensor({5}, {1, 2, 3, 4, 5})}).floats;
}

TEST(AlongAxis, MultiplyUp) {
  EXPECT_EQ(products(false, false), (Values{1, 2, 6, 24, 120}));
  EXPECT_EQ(products(true, false), (Values{1, 1, 2, 6, 24}));
  EXPECT_EQ(products(false, true), (Values{120, 120, 60, 20, 5}));
  EXPECT_EQ(products(true, true), (Values{120, 60, 20, 5, 1}));
}

static Values centered(int64_t size) {
  SmallModel model;
  model.input("x", {3})
      .integers("size", {1}, {size})
      .node("CenterCropPad", {"x", "size"}, {"y"})
      .output("y");
  return evaluate(model, {tensor({3}, {1, 2, 3})}).floats;
}

TEST(AlongAxis, CropAndPadAroundTheMiddle) {
  EXPECT_EQ(centered(1), (Values{2}));
  EXPECT_EQ(centered(3), (Values{1, 2, 3}));
  EXPECT_EQ(centered(6), (Values{0, 1, 2, 3, 0, 0}));
}

TEST(AlongAxis, KeepWhatAMaskSays) {
  SmallModel model;
  model.input("x", {2, 2})
      .integers("mask", {3}, {0, 1, 1})
      .node("Compress", {"x", "mask"}, {"y"})
      .output("y");
  EXPECT_EQ(evaluate(model, {tensor({2, 2}, {1, 2, 3, 4})}).floats,
            (Values{2, 3}));
}

TEST(AlongAxis, MakeWindows) {
  SmallModel model;
  model.input("x", {4})
      .integers("size", {}, {4})
      .node("HannWindow", {"size"}, {"window"})
      .node("Mul", {"x", "window"}, {"y"})
      .output("y");
  Values y = evaluate(model, {tensor({4}, {1, 1, 1, 1})}).floats;
  EXPECT_NEAR(y[0], 0, 1e-12);
  EXPECT_NEAR(y[1], 0.5, 1e-7);
  EXPECT_NEAR(y[2], 1, 1e-7);
}

TEST(AlongAxis, TurnRowsRound) {
  SmallModel model;
  model.input("x", {2, 3})
      .integers("lengths", {2}, {2, 3})
      .node("ReverseSequence", {"x", "lengths"}, {"y"})
      .with("time_axis", 1)
      .with("batch_axis", 0)
      .output("y");
  EXPECT_EQ(evaluate(model, {tensor({2, 3}, {1, 2, 3, 4, 5, 6})}).floats,
            (Values{2, 1, 3, 6, 5, 4}));
}

/// Checked before as many places are listed.
TEST(AlongAxis, RefuseAxesThatNoConstantLists) {
  SmallModel model;
  model.input("x", {int64_t(1) << 40})
      .integers("axis", {}, {0})
      .node("CumProd", {"x", "axis"}, {"y"})
      .with("exclusive", 1)
      .output("y");
  EXPECT_NE(import(model).error.find("makes a constant of shape ["),
            std::string::npos)
      << import(model).error;
}
