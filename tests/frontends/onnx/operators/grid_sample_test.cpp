// Images read between their pixels.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

/// A row of four pixels 1, 2, 3, 4 at horizontal coordinates.
static Values sampledAt(Values places, const char *mode, const char *padding) {
  SmallModel model;
  int64_t count = places.size();
  model.input("image", {1, 1, 1, 4})
      .input("grid", {1, 1, count, 2})
      .node("GridSample", {"image", "grid"}, {"y"})
      .with("mode", mode)
      .with("padding_mode", padding)
      .with("align_corners", 1)
      .output("y");
  Values grid;
  for (double place : places)
    grid.insert(grid.end(), {place, 0});
  return evaluate(model, {tensor({1, 1, 1, 4}, {1, 2, 3, 4}),
                          tensor({1, 1, count, 2}, grid)})
      .floats;
}

TEST(GridSample, WeighsPixelsAround) {
  EXPECT_EQ(sampledAt({-1, 0, 1}, "linear", "zeros"), (Values{1, 2.5, 4}));
  EXPECT_EQ(sampledAt({-0.9, 0.6}, "nearest", "zeros"), (Values{1, 3}));
  EXPECT_NEAR(sampledAt({0}, "cubic", "border")[0], 2.5, 1e-12);
}

TEST(GridSample, TreatsTheOutsideAsAsked) {
  EXPECT_EQ(sampledAt({3}, "linear", "zeros"), (Values{0}));
  EXPECT_EQ(sampledAt({3}, "linear", "border"), (Values{4}));
  // One and two thirds of a width beyond, thrown back.
  EXPECT_NEAR(sampledAt({5.0 / 3}, "linear", "reflection")[0], 3, 1e-12);
}

TEST(GridSample, MakesAffineGrids) {
  SmallModel model;
  model.input("maps", {1, 2, 3})
      .integers("size", {4}, {1, 1, 1, 2})
      .node("AffineGrid", {"maps", "size"}, {"y"})
      .with("align_corners", 1)
      .output("y");
  // Twice as wide and one to the right.
  EXPECT_EQ(evaluate(model, {tensor({1, 2, 3}, {2, 0, 1, 0, 1, 0})}).floats,
            (Values{-1, -1, 3, -1}));
}

TEST(GridSample, RefusesAGridThatDoesNotFit) {
  SmallModel model;
  model.input("image", {1, 1, 1, 4})
      .input("grid", {1, 1, 2, 3})
      .node("GridSample", {"image", "grid"}, {"y"})
      .output("y");
  EXPECT_EQ(import(model).error,
            "node \"the GridSample\" (GridSample): a grid of shape [1, 1, 2, "
            "3] does not fit an image of shape [1, 1, 1, 4]");
}

/// bf16 has no numbers between 512 and 516; places between need them.
TEST(GridSample, FindsPlacesInLargeImagesOfNarrowFloats) {
  SmallModel model;
  model.input("image", {1, 1, 1, 1025}, ::onnx::TensorProto::BFLOAT16)
      .input("grid", {1, 1, 1, 2})
      .node("GridSample", {"image", "grid"}, {"y"})
      .with("mode", "nearest")
      .with("align_corners", 1)
      .output("y");
  Values pixels(1025);
  for (size_t i = 0; i < pixels.size(); ++i)
    pixels[i] = i % 8;
  Imported imported = import(model);
  auto y = evaluate(imported, {tensor({1, 1, 1, 1025}, pixels),
                               tensor({1, 1, 1, 2}, {2.0 / 1024, 0})});
  EXPECT_EQ(y[0].floats, (Values{513 % 8}));
}
