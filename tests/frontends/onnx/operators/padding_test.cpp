// Values with elements around them or repeated: what comes out, and what is
// refused.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

static Values run(SmallModel model, const Shape &shape) {
  return evaluate(model.output("y"), {counted(shape)}).floats;
}

static SmallModel padded(const char *mode, const Shape &pads) {
  SmallModel model;
  model.input("x", {3}).integers("pads", {2}, pads);
  return model.node("Pad", {"x", "pads"}, {"y"}).with("mode", mode);
}

TEST(Padding, PadsInEachMode) {
  EXPECT_EQ(run(padded("constant", {1, -1}), {3}), (Values{0, 0, 1}));
  EXPECT_EQ(run(padded("edge", {2, 1}), {3}), (Values{0, 0, 0, 1, 2, 2}));
  EXPECT_EQ(run(padded("reflect", {2, 1}), {3}), (Values{2, 1, 0, 1, 2, 1}));
  EXPECT_EQ(run(padded("wrap", {1, 2}), {3}), (Values{2, 0, 1, 2, 0, 1}));
  EXPECT_EQ(errorOf(padded("odd", {1, 2})),
            "node \"the Pad\" (Pad): mode is \"odd\", which is not supported");
}

TEST(Padding, RefusesToPadByElementsThatAreCutAway) {
  for (const char *mode : {"edge", "wrap", "reflect"})
    EXPECT_EQ(errorOf(padded(mode, {-3, 4})),
              "node \"the Pad\" (Pad): pads axis 0 by its elements, but it has "
              "none");
  for (int64_t count : {INT64_MIN, INT64_MAX})
    EXPECT_NE(errorOf(padded("edge", {count, 0})).find("pads by "),
              std::string::npos);
}

TEST(Padding, RefusesToTileBeyondMeasure) {
  SmallModel model;
  model.input("x", {int64_t(1) << 33})
      .integers("repeats", {1}, {INT32_MAX})
      .node("Tile", {"x", "repeats"}, {"y"});
  EXPECT_NE(errorOf(model).find("times, which is too often"),
            std::string::npos);
}

TEST(Padding, Tiles) {
  SmallModel model;
  model.input("x", {1, 2}).integers("r", {2}, {2, 2});
  EXPECT_EQ(run(model.node("Tile", {"x", "r"}, {"y"}), {1, 2}),
            (Values{0, 1, 0, 1, 0, 1, 0, 1}));
}
