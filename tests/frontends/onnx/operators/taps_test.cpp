// The pixels around a place, and what they weigh.

#include "frontends/onnx/operators/taps.h"

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

/// A row of pixels 1, 2, 3, 4 read by GridSample, whose places -1 and 1 are the
/// outer borders of its pixels.
static Values readAt(const Values &pixels, const char *mode,
                     const char *padding) {
  int64_t count = pixels.size();
  SmallModel model;
  model.input("image", {1, 1, 1, 4})
      .input("grid", {1, 1, count, 2})
      .node("GridSample", {"image", "grid"}, {"y"})
      .with("mode", mode)
      .with("padding_mode", padding)
      .output("y");
  Values grid;
  for (double pixel : pixels)
    grid.insert(grid.end(), {(pixel + 0.5) / 2 - 1, 0});
  return evaluate(model, {tensor({1, 1, 1, 4}, {1, 2, 3, 4}),
                          tensor({1, 1, count, 2}, grid)})
      .floats;
}

TEST(Taps, WeighTheTwoPixelsAround) {
  expectEqual(readAt({0, 0.25, 2.5, 3}, "linear", "zeros"), {1, 1.25, 3.5, 4});
}

TEST(Taps, CountPixelsOutsideAsZero) {
  expectEqual(readAt({-1, -0.25, 3.75, 4}, "linear", "zeros"), {0, 0.75, 1, 0});
}

TEST(Taps, StayAtTheBorder) {
  expectEqual(readAt({-2, -0.25, 3.25, 9}, "linear", "border"), {1, 1, 4, 4});
}

TEST(Taps, AreThrownBack) {
  expectEqual(readAt({-1, 4.25}, "linear", "reflection"), {1, 3.75});
}

TEST(Taps, OfTheNearestAreOne) {
  expectEqual(readAt({0.4, 0.6, 2.9}, "nearest", "zeros"), {1, 2, 4});
}
