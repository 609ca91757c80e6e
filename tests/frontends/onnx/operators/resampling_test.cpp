// The weights of a resize along one axis.

#include "frontends/onnx/operators/resampling.h"

#include <gtest/gtest.h>

using gradus::onnx::Resampling;
using gradus::onnx::Resized;
using Weights = std::vector<double>;

static Weights weights(const Resampling &how, const Resized &axis) {
  auto result = gradus::onnx::weightsOf(how, axis);
  EXPECT_TRUE(result.ok()) << result.status();
  return result.value_or(Weights());
}

TEST(Resampling, TakesTheNearest) {
  EXPECT_EQ(weights({}, {.in = 2, .out = 4, .scale = 2}),
            (Weights{1, 0, 1, 0, 0, 1, 0, 1}));
  Resampling ceil = {.coordinates = "asymmetric", .nearest = "ceil"};
  EXPECT_EQ(weights(ceil, {.in = 2, .out = 4, .scale = 2}),
            (Weights{1, 0, 0, 1, 0, 1, 0, 1}));
}

/// 3 / 0.6f is 5, as onnxruntime and PyTorch round it.
TEST(Resampling, FindsTheNearestInF32) {
  Resampling floor = {.coordinates = "asymmetric", .nearest = "floor"};
  Weights found = weights(floor, {.in = 7, .out = 4, .scale = double(0.6f)});
  EXPECT_EQ(Weights(found.end() - 7, found.end()),
            (Weights{0, 0, 0, 0, 0, 1, 0}));
}

TEST(Resampling, MixesNeighboursLinearly) {
  EXPECT_EQ(weights({.mode = "linear"}, {.in = 2, .out = 4, .scale = 2}),
            (Weights{1, 0, 0.75, 0.25, 0.25, 0.75, 0, 1}));
  Resampling corners = {.mode = "linear", .coordinates = "align_corners"};
  EXPECT_EQ(weights(corners, {.in = 2, .out = 3, .scale = 1.5}),
            (Weights{1, 0, 0.5, 0.5, 0, 1}));
}

TEST(Resampling, KeepsSums) {
  for (bool exclude : {false, true})
    for (bool antialias : {false, true})
      for (const char *mode : {"linear", "cubic"}) {
        Weights found = weights(
            {.mode = mode, .excludeOutside = exclude, .antialias = antialias},
            {.in = 7, .out = 3, .scale = 3.0 / 7});
        for (int row = 0; row < 3; ++row) {
          double sum = 0;
          for (int i = 0; i < 7; ++i)
            sum += found[row * 7 + i];
          EXPECT_NEAR(sum, 1, 1e-12) << mode;
        }
      }
}

TEST(Resampling, RefusesWhatItDoesNotKnow) {
  EXPECT_TRUE(gradus::onnx::checkKnown({}).ok());
  EXPECT_EQ(gradus::onnx::checkKnown({.mode = "magic"}).message(),
            "mode \"magic\" is not supported");
  EXPECT_EQ(gradus::onnx::checkKnown({.coordinates = "magic"}).message(),
            "coordinate_transformation_mode \"magic\" is not supported");
  EXPECT_EQ(gradus::onnx::checkKnown({.nearest = "magic"}).message(),
            "nearest_mode \"magic\" is not supported");
}

/// Along 5 elements from -1 to 2 in units of the axis: -4, 0, 4, 8.
TEST(Resampling, NamesWhatACropMakesUp) {
  Resampling crop = {.coordinates = "tf_crop_and_resize"};
  Resized axis = {.in = 5, .out = 4, .scale = 0.8, .roiStart = -1, .roiEnd = 2};
  EXPECT_EQ(gradus::onnx::madeUp(crop, axis), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(gradus::onnx::madeUp({}, axis), std::vector<int64_t>());
}
