// Resize of ONNX: sizes, scales, axes.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

static const HostTensor kImage = tensor({1, 1, 2, 2}, {1, 2, 3, 4});

static SmallModel scaled(const char *mode) {
  return SmallModel()
      .input("x", {1, 1, 2, 2})
      .floats("scales", {4}, {1, 1, 1, 2})
      .node("Resize", {"x", "", "scales"}, {"y"})
      .with("mode", mode)
      .output("y");
}

TEST(Resize, RepeatsTheNearest) {
  HostTensor y = evaluate(scaled("nearest"), {kImage});
  EXPECT_EQ(y.shape, (llvm::SmallVector<int64_t>{1, 1, 2, 4}));
  EXPECT_EQ(y.floats, (Values{1, 1, 2, 2, 3, 3, 4, 4}));
}

TEST(Resize, MixesLinearly) {
  EXPECT_EQ(evaluate(scaled("linear"), {kImage}).floats,
            (Values{1, 1.25, 1.75, 2, 3, 3.25, 3.75, 4}));
}

/// 10 * 0.7f is 7 in f32 and less in f64.
TEST(Resize, CountsElementsInF32) {
  for (const char *mode : {"nearest", "linear"}) {
    SmallModel model;
    model.input("x", {1, 10})
        .floats("scales", {2}, {1, 0.7f})
        .node("Resize", {"x", "", "scales"}, {"y"})
        .with("mode", mode)
        .output("y");
    EXPECT_EQ(evaluate(model, {zeros({1, 10})}).shape,
              (llvm::SmallVector<int64_t>{1, 7}))
        << mode;
  }
}

TEST(Resize, TakesSizesOfSomeAxes) {
  SmallModel model;
  model.input("x", {1, 1, 2, 2})
      .integers("sizes", {1}, {1})
      .node("Resize", {"x", "", "", "sizes"}, {"y"})
      .with("axes", Shape{2})
      .with("mode", "linear")
      .output("y");
  EXPECT_EQ(evaluate(model, {kImage}).floats, (Values{2, 3}));
}

/// From half an image before it to half behind: only the middle is there.
TEST(Resize, MakesUpWhatACropTakesFromOutside) {
  for (const char *mode : {"linear", "nearest"}) {
    SmallModel model;
    model.input("x", {1, 3})
        .floats("roi", {4}, {0, -0.5f, 1, 1.5f})
        .integers("sizes", {2}, {1, 5})
        .node("Resize", {"x", "roi", "", "sizes"}, {"y"})
        .with("coordinate_transformation_mode", "tf_crop_and_resize")
        .with("mode", mode)
        .withNumber("extrapolation_value", 9)
        .output("y");
    EXPECT_EQ(evaluate(model, {tensor({1, 3}, {1, 2, 3})}).floats,
              (Values{9, 1, 2, 3, 9}))
        << mode;
  }
}

TEST(Resize, SaysWhatItLacks) {
  EXPECT_EQ(import(scaled("magic")).error,
            "node \"the Resize\" (Resize): mode \"magic\" is not supported");
}

TEST(Resize, RefusesSizesBeyondMeasure) {
  SmallModel model;
  model.input("x", {1, 1, 2, 2})
      .floats("scales", {4}, {1, 1, 1, 1e30f})
      .node("Resize", {"x", "", "scales"}, {"y"})
      .output("y");
  EXPECT_NE(import(model).error.find("of 2 elements along axis 3"),
            std::string::npos)
      << import(model).error;
  SmallModel kept;
  kept.input("x", {1, 1, 1, 64})
      .integers("sizes", {2}, {INT32_MAX, 1})
      .node("Resize", {"x", "", "", "sizes"}, {"y"})
      .with("axes", Shape{2, 3})
      .with("keep_aspect_ratio_policy", "not_larger")
      .output("y");
  EXPECT_NE(import(kept).error.find("would make 0 of 1 elements along axis 2"),
            std::string::npos)
      << import(kept).error;
}
