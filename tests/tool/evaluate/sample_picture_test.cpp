// The tests say which inputs are pictures, and how their values are drawn.

#include "tool/evaluate/sample_picture.h"
#include "training/data/png_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

using namespace gradus;
using namespace gradus::cli;

static std::optional<PictureShape>
shapeOf(std::vector<int64_t> sizes, runtime::DType dtype = runtime::DType::f32,
        bool isOfPixels = false) {
  runtime::TensorType type;
  type.dtype = dtype;
  type.shape = std::move(sizes);
  return PictureShape::of(type, isOfPixels);
}

/// The picture of an image with these pixels.
static std::string gray(int64_t width, int64_t height,
                        std::vector<uint8_t> pixels) {
  return data::pngText({width, height, 1, std::move(pixels)});
}

TEST(SamplePicture, IsOfInputsThatAreImages) {
  EXPECT_EQ(shapeOf({8, 3, 32, 16})->width, 16);
  EXPECT_FALSE(shapeOf({8, 3, 32, 16})->channelsLast);
  EXPECT_TRUE(shapeOf({8, 32, 16, 3})->channelsLast);
  EXPECT_FALSE(shapeOf({8, 3, 3, 3}));   // too small to be looked at
  EXPECT_FALSE(shapeOf({8, 7, 32, 32})); // features, no colours
  EXPECT_FALSE(shapeOf({8, 20}));
  EXPECT_FALSE(shapeOf({8, 28, 28}, runtime::DType::i64));
}

TEST(SamplePicture, OfThreeAxesIsOfPixelsOnly) {
  const auto f32 = runtime::DType::f32;
  EXPECT_FALSE(shapeOf({8, 28, 20})) << "it may be 28 steps of 20 features";
  EXPECT_EQ(shapeOf({8, 28, 20}, f32, /*isOfPixels=*/true)->height, 28);
  EXPECT_FALSE(shapeOf({8, 7, 32, 32}, f32, /*isOfPixels=*/true));
}

TEST(SamplePicture, SpansTheRangeOfItsValues) {
  std::vector<float> batch(2 * 16, 7);
  std::iota(batch.begin() + 16, batch.end(), -3.0f); // -3 to 12
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 16; ++i)
    pixels.push_back(i * 17);
  EXPECT_EQ(samplePicture(*shapeOf({2, 1, 4, 4}), batch.data(), 1),
            gray(4, 4, pixels));
  EXPECT_EQ(samplePicture(*shapeOf({2, 1, 4, 4}), batch.data(), 0),
            gray(4, 4, std::vector<uint8_t>(16, 128))); // no range
}

TEST(SamplePicture, ShowsWhatIsNotFiniteAsBlack) {
  std::vector<float> batch(16, 1);
  batch[0] = NAN;
  batch[1] = 3;
  std::vector<uint8_t> pixels(16, 0);
  pixels[1] = 255;
  EXPECT_EQ(samplePicture(*shapeOf({1, 1, 4, 4}), batch.data(), 0),
            gray(4, 4, pixels));
}

TEST(SamplePicture, ReadsChannelsWhereverTheyStand) {
  std::vector<float> first(3 * 16), last(16 * 3);
  for (int c = 0; c < 3; ++c)
    for (int i = 0; i < 16; ++i)
      first[c * 16 + i] = last[i * 3 + c] = float(c * 50 + i);
  EXPECT_EQ(samplePicture(*shapeOf({1, 3, 4, 4}), first.data(), 0),
            samplePicture(*shapeOf({1, 4, 4, 3}), last.data(), 0));
}

TEST(SamplePicture, OfALargeImageIsTheMeansOfBlocks) {
  std::vector<float> batch(192 * 192);
  for (size_t i = 0; i < batch.size(); ++i)
    batch[i] = i % 192 < 96 ? 0 : float(i % 2); // means 0 and 0.5
  std::vector<uint8_t> pixels;
  for (int i = 0; i < 96 * 96; ++i)
    pixels.push_back(i % 96 < 48 ? 0 : 255);
  EXPECT_EQ(samplePicture(*shapeOf({1, 1, 192, 192}), batch.data(), 0),
            gray(96, 96, pixels));
}

TEST(SamplePicture, OfAThinImageIsNeverEmpty) {
  std::vector<float> batch(4 * 400);
  std::iota(batch.begin(), batch.end(), 0.0f);
  for (bool isUpright : {false, true}) {
    auto shape = isUpright ? shapeOf({1, 1, 400, 4}) : shapeOf({1, 1, 4, 400});
    std::vector<uint8_t> ramp; // the means ascend evenly
    for (int i = 0; i < 80; ++i)
      ramp.push_back(static_cast<uint8_t>(i / 79.0 * 255 + 0.5));
    EXPECT_EQ(samplePicture(*shape, batch.data(), 0),
              isUpright ? gray(1, 80, ramp) : gray(80, 1, ramp));
  }
}
