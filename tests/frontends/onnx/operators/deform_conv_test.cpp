// Convolutions that read where offsets say; the expected values are
// torchvision's.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

/// Two channels of 3 x 3 pixels under windows of 2 x 2.
static SmallModel deformed(const Shape &offsets, const Shape &mask) {
  return SmallModel()
      .input("x", {1, 2, 3, 3})
      .input("w", {1, 2, 2, 2})
      .input("offset", offsets)
      .input("b", {1})
      .input("mask", mask)
      .node("DeformConv", {"x", "w", "offset", "b", "mask"}, {"y"});
}

TEST(DeformConv, ReadsBesideTheWindow) {
  Values offsets(8 * 4), mask(4 * 4, 1), weight;
  offsets[0] = 0.5;           // the first row of the first window
  offsets[3 * 4 + 3] = -0.25; // a column of the last one
  offsets[7 * 4 + 3] = 0.75;  // and one beyond its border
  std::fill(mask.begin() + 4, mask.begin() + 8, 0.5);
  for (int i = 0; i < 8; ++i)
    weight.push_back(i / 4.0);
  SmallModel model = deformed({1, 8, 2, 2}, {1, 4, 2, 2});
  expectEqual(evaluate(model.output("y"),
                       {counted({1, 2, 3, 3}), tensor({1, 2, 2, 2}, weight),
                        tensor({1, 8, 2, 2}, offsets), tensor({1}, {10}),
                        tensor({1, 4, 2, 2}, mask)})
                  .floats,
              {72.125, 76.875, 89.375, 68.625});
}

TEST(DeformConv, RefusesWhatDoesNotFit) {
  EXPECT_EQ(errorOf(deformed({1, 8, 3, 2}, {1, 4, 2, 2})),
            "node \"the DeformConv\" (DeformConv): its offset has shape [1, 8, "
            "3, 2], expected [1, 8, 2, 2]");
  EXPECT_EQ(errorOf(deformed({1, 8, 2, 2}, {1, 8, 2, 2})),
            "node \"the DeformConv\" (DeformConv): its mask has shape [1, 8, "
            "2, 2], expected [1, 4, 2, 2]");
  SmallModel groups = deformed({1, 8, 2, 2}, {1, 4, 2, 2});
  EXPECT_EQ(errorOf(groups.with("group", 2)),
            "node \"the DeformConv\" (DeformConv): a weight of shape [1, 2, 2, "
            "2] in 2 groups does not fit images of shape [1, 2, 3, 3] and a "
            "kernel_shape of [2, 2]");
  SmallModel parts = deformed({1, 8, 2, 2}, {1, 4, 2, 2});
  EXPECT_EQ(errorOf(parts.with("offset_group", 3)),
            "node \"the DeformConv\" (DeformConv): offset_group is 3, expected "
            "a divisor of its 2 channels");
  SmallModel steps = deformed({1, 8, 2, 2}, {1, 4, 2, 2});
  EXPECT_EQ(errorOf(steps.with("strides", Shape{1, 0})),
            "node \"the DeformConv\" (DeformConv): kernel_shape is [2, 2], "
            "strides [1, 0], dilations [1, 1], pads [0, 0, 0, 0]; expected 2 "
            "numbers of at least 1 each, and 4 pads of at least 0");
  SmallModel line;
  line.input("x", {1, 2, 3})
      .input("w", {1, 2, 2})
      .input("o", {1, 2, 2})
      .node("DeformConv", {"x", "w", "o"}, {"y"});
  EXPECT_EQ(errorOf(line),
            "node \"the DeformConv\" (DeformConv): its input has rank 3; only "
            "images of 2 spatial axes are supported");
}
