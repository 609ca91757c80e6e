// Regions pooled into bins; the expected values are torchvision's, those of the
// largest samples ONNX's.

#include "tests/frontends/onnx/small_model.h"

using namespace gradus;
using namespace gradus::testing;

using Values = std::vector<double>;

/// Two images of 4 x 5 pixels: 0, 7, 14, ... modulo 11.
static HostTensor images() {
  HostTensor all = counted({2, 1, 4, 5});
  for (double &pixel : all.floats)
    pixel = std::fmod(7 * pixel, 11);
  return all;
}

/// A region within the first image, a small one within the second, and one that
/// begins outside of it.
static const std::vector<float> kRegions = {0.5f, 0.25f, 4.5f, 3,  1, 1,
                                            1.5f, 1.25f, -3,   -2, 2, 2};

static SmallModel aligning(int64_t ratio, const char *mode,
                           const char *coordinates) {
  SmallModel model;
  model.input("x", {2, 1, 4, 5})
      .integers("places", {3}, {0, 1, 1})
      .node("RoiAlign", {"x", "regions", "places"}, {"y"})
      .with("output_height", 2)
      .with("output_width", 2)
      .with("sampling_ratio", ratio)
      .with("mode", mode)
      .with("coordinate_transformation_mode", coordinates)
      .output("y");
  return model;
}

/// The regions as a constant of the model.
static SmallModel &withRegions(SmallModel &model,
                               const std::vector<float> &regions = kRegions) {
  ::onnx::NodeProto &node = *model.graph().add_node();
  node.set_op_type("Constant");
  node.add_output("regions");
  ::onnx::AttributeProto &value = *node.add_attribute();
  value.set_name("value");
  ::onnx::TensorProto &tensor = *value.mutable_t();
  tensor.set_data_type(::onnx::TensorProto::FLOAT);
  tensor.add_dims(regions.size() / 4);
  tensor.add_dims(4);
  tensor.mutable_float_data()->Add(regions.begin(), regions.end());
  model.graph().mutable_node()->SwapElements(0, 1);
  return model;
}

TEST(Regions, AreSampledByTheirSize) {
  SmallModel half = aligning(0, "avg", "half_pixel"),
             whole = aligning(0, "avg", "output_half_pixel");
  expectEqual(evaluate(withRegions(half), {images()}).floats,
              {5.125, 5.71875, 3.835938, 5.160156, 6.625, 5.625, 6.875, 5.875,
               0, 3.111111, 0, 7.222222});
  expectEqual(evaluate(withRegions(whole), {images()}).floats,
              {6.101562, 5.492188, 4.210938, 5.320312, 5.5, 3.5, 6.5, 4.5,
               1.333333, 2.444444, 2.416667, 5.743056});
}

TEST(Regions, GiveTheLargestOfTheirWeighedPixels) {
  SmallModel model = aligning(2, "max", "half_pixel");
  model.input("regions", {3, 4});
  expectEqual(
      evaluate(model, {images(), tensor({3, 4}, Values(kRegions.begin(),
                                                       kRegions.end()))})
          .floats,
      {3.515625, 4.53125, 2.953125, 4.21875, 2.597656, 3.339844, 3.144531,
       4.042969, 0, 8, 0, 10});
}

/// Of all three only the first has an extent; ONNX makes the others 0.
TEST(Regions, WithoutAnExtentAreZero) {
  SmallModel model = aligning(0, "max", "half_pixel");
  withRegions(model, {0, 0, 4, 3, 2, 2, 2, 2, 3, 3, 1, 1});
  Values y = evaluate(model, {images()}).floats;
  ASSERT_EQ(y.size(), 12u);
  for (size_t i = 0; i < 12; ++i)
    EXPECT_EQ(y[i] != 0, i < 4) << i;
}

static SmallModel pooling(float scale) {
  SmallModel model;
  model.input("x", {2, 1, 4, 5})
      .input("regions", {3, 5})
      .node("MaxRoiPool", {"x", "regions"}, {"y"})
      .with("pooled_shape", Shape{2, 3})
      .withNumber("spatial_scale", scale)
      .output("y");
  return model;
}

/// The last region lies outside of its image.
TEST(Regions, ArePooledByWholePixels) {
  HostTensor regions =
      tensor({3, 5}, {0, 0, 0, 4, 3, 1, 1.5, -0.5, 3.4, 1.4, 1, 6, 1, 9, 2});
  expectEqual(evaluate(pooling(1), {images(), regions}).floats,
              {9, 10, 10, 6, 9, 10, 0, 7, 7, 2, 9, 9, 0, 0, 0, 0, 0, 0});
  expectEqual(evaluate(pooling(0.5), {images(), regions}).floats,
              {2, 9, 5, 4, 9, 7, 4, 4, 0, 6, 6, 2, 9, 5, 0, 9, 5, 0});
}

/// A pixel that is NaN is every bin's that it lies in, and no other's; of an
/// image that is not there, all are.
TEST(Regions, KeepNanWhereTheyArePooled) {
  HostTensor all = images();
  all.floats[1] = NAN;
  HostTensor regions =
      tensor({3, 5}, {0, 0, 0, 4, 3, 1, 0, 0, 4, 3, 2, 0, 0, 4, 3});
  Values y = evaluate(pooling(1), {all, regions}).floats,
         whole = evaluate(pooling(1), {images(), regions}).floats;
  ASSERT_EQ(y.size(), 18u);
  ASSERT_EQ(whole.size(), 18u);
  for (size_t i = 0; i < 12; ++i)
    if (i < 2) // Columns 0 and 1, and 1 to 3, of the first rows.
      EXPECT_TRUE(std::isnan(y[i])) << i;
    else
      EXPECT_EQ(y[i], whole[i]) << i;
  for (size_t i = 12; i < 18; ++i)
    EXPECT_TRUE(std::isnan(y[i]) && std::isnan(whole[i])) << i;
  HostTensor before = regions;
  for (size_t region : {0, 5, 10})
    before.floats[region] = -3;
  for (double value : evaluate(pooling(1), {images(), before}).floats)
    EXPECT_TRUE(std::isnan(value));
}

/// An extent of f64 that f32 would round to 2 samples along a bin.
TEST(Regions, AreCountedInTheirOwnType) {
  Values found[2];
  for (int64_t ratio : {0, 3}) {
    SmallModel model = aligning(ratio, "avg", "half_pixel");
    std::vector<float> numbers(12);
    withRegions(model, numbers);
    ::onnx::TensorProto &regions =
        *model.graph().mutable_node(0)->mutable_attribute(0)->mutable_t();
    regions.set_data_type(::onnx::TensorProto::DOUBLE);
    regions.clear_float_data();
    for (int i = 0; i < 12; ++i)
      regions.add_double_data(i % 4 < 2 ? 0 : 4 + 1e-9);
    model.graph()
        .mutable_input(0)
        ->mutable_type()
        ->mutable_tensor_type()
        ->set_elem_type(::onnx::TensorProto::DOUBLE);
    found[ratio != 0] = evaluate(model, {images()}).floats;
  }
  ASSERT_EQ(found[0].size(), 12u);
  expectEqual(found[0], found[1]);
}

TEST(Regions, RefuseWhatIsNotKnown) {
  auto error = [](SmallModel model) {
    return import(model.input("regions", {3, 4})).error;
  };
  EXPECT_EQ(error(aligning(0, "avg", "half_pixel")),
            "node \"the RoiAlign\" (RoiAlign): sampling_ratio is 0, which "
            "samples each region by its size, but its regions \"regions\" are "
            "no constant; only a ratio that is given is supported there");
  EXPECT_EQ(error(aligning(2, "mean", "half_pixel")),
            "node \"the RoiAlign\" (RoiAlign): mode is \"mean\", expected avg "
            "or max");
  EXPECT_EQ(error(aligning(2, "avg", "corners")),
            "node \"the RoiAlign\" (RoiAlign): coordinate_transformation_mode "
            "is \"corners\", expected half_pixel or output_half_pixel");
  EXPECT_EQ(error(aligning(-1, "avg", "half_pixel")),
            "node \"the RoiAlign\" (RoiAlign): gives bins of [2, 2] with "
            "sampling_ratio -1, expected sizes of at least 1, a ratio of at "
            "least 0, and at most 268435456 samples of a region");
  SmallModel huge = aligning(0, "avg", "half_pixel");
  EXPECT_EQ(
      import(withRegions(huge, {0, 0, 1e9f, 1, 0, 0, 1, 1, 0, 0, 1, 1})).error,
      "node \"the RoiAlign\" (RoiAlign): region 0 would be sampled "
      "5e+08 times along a bin, which is not supported");
  SmallModel endless = aligning(0, "avg", "half_pixel");
  EXPECT_EQ(
      import(withRegions(endless, {0, 0, 1, 1, 0, 0, -INFINITY, 1, 0, 0, 1, 1}))
          .error,
      "node \"the RoiAlign\" (RoiAlign): region 1 would be sampled -inf "
      "times along a bin, which is not supported");
}

TEST(Regions, RefuseShapesThatDoNotFit) {
  SmallModel wide = aligning(2, "avg", "half_pixel");
  EXPECT_EQ(import(wide.input("regions", {3, 5})).error,
            "node \"the RoiAlign\" (RoiAlign): expected images of rank 4 and "
            "[regions, 4], found shapes [2, 1, 4, 5] and [3, 5]");
  SmallModel few = aligning(2, "avg", "half_pixel");
  EXPECT_EQ(import(few.input("regions", {2, 4})).error,
            "node \"the RoiAlign\" (RoiAlign): expected the image of each of 2 "
            "regions as integers, found shape [3]");
  SmallModel pool;
  pool.input("x", {2, 1, 4, 5})
      .input("regions", {3, 5})
      .node("MaxRoiPool", {"x", "regions"}, {"y"})
      .with("pooled_shape", Shape{2});
  EXPECT_EQ(errorOf(pool),
            "node \"the MaxRoiPool\" (MaxRoiPool): pooled_shape is [2], "
            "expected 2 numbers of at least 1");
  SmallModel large;
  large.input("x", {1, 1, 5000, 5000})
      .input("regions", {1, 5})
      .node("MaxRoiPool", {"x", "regions"}, {"y"})
      .with("pooled_shape", Shape{2, 2});
  EXPECT_EQ(errorOf(large),
            "node \"the MaxRoiPool\" (MaxRoiPool): its images have more than "
            "16777216 pixels, which is not supported");
}
