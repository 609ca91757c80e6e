// Parts of a plane scaled as torchvision 0.29 scales them:
// functional.resized_crop(plane, top, left, height, width, size,
// antialias=True).

#include "training/data/resize.h"
#include "training/data/resized_crop.h"

#include <gmock/gmock.h>

using namespace gradus::data;
using testing::FloatNear;
using testing::Pointwise;

namespace {

/// (37 y y + 91 x + 13 x y) mod 256 in 6 x 7 pixels.
constexpr int64_t kHeight = 6, kWidth = 7;

uint8_t pixel(int64_t y, int64_t x) {
  return (37 * y * y + 91 * x + 13 * x * y) % 256;
}

void setBoth(const Box &box, int64_t height, int64_t width,
             ResizeMemory &memory) {
  setTaps({0, double(box.height)}, box.height, height, height, memory.rows);
  setTaps({0, double(box.width)}, box.width, width, width, memory.columns);
}

std::vector<float> resized(const Box &box, int64_t height, int64_t width) {
  std::vector<float> plane, to(height * width);
  for (int64_t y = 0; y < kHeight; ++y)
    for (int64_t x = 0; x < kWidth; ++x)
      plane.push_back(pixel(y, x));
  ResizeMemory memory;
  setBoth(box, height, width, memory);
  resize(
      Pixels<float>{&plane[box.top * kWidth + box.left], box.width, 1, kWidth},
      1, memory, to.data());
  return to;
}

/// The same in bytes, as one of three colours; the others are other numbers.
std::vector<float> resizedColour(int64_t colour, const Box &box, int64_t height,
                                 int64_t width, ResizeMemory &memory) {
  std::vector<uint8_t> image;
  for (int64_t y = 0; y < kHeight; ++y)
    for (int64_t x = 0; x < kWidth; ++x)
      for (int64_t c = 0; c < 3; ++c)
        image.push_back(c == colour ? pixel(y, x) : 255 - pixel(x, y));
  std::vector<float> to(3 * height * width);
  setBoth(box, height, width, memory);
  resize(Pixels<uint8_t>{&image[(box.top * kWidth + box.left) * 3], box.width,
                         3, kWidth * 3},
         1, memory, to.data());
  auto first = to.begin() + colour * height * width;
  return {first, first + height * width};
}

} // namespace

TEST(Resize, GrowsAsTorchvisionDoes) {
  EXPECT_THAT(resized({1, 2, 4, 3}, 5, 6),
              Pointwise(FloatNear(1e-3),
                        {245.0, 207.0,   131.0,   119.0,   171.0,   197.0,
                         161.7, 170.775, 188.925, 181.475, 148.425, 131.9,
                         103.5, 134.375, 196.125, 193.875, 127.625, 94.5,
                         89.7,  123.175, 190.125, 193.075, 132.025, 101.5,
                         110.0, 145.75,  217.25,  224.75,  168.25,  140.0}));
}

TEST(Resize, ShrinksAsTorchvisionDoes) {
  EXPECT_THAT(resized({0, 1, 6, 5}, 2, 3),
              Pointwise(FloatNear(1e-3), {136.0, 140.4722, 143.9286, 142.0714,
                                          163.5833, 115.0}));
}

TEST(Resize, GrowsAlongOneAxisAndShrinksAlongTheOther) {
  EXPECT_THAT(
      resized({2, 0, 3, 7}, 4, 3),
      Pointwise(FloatNear(1e-3),
                {83.7143, 167.7059, 146.2857, 114.875, 157.1177, 143.6964,
                 138.875, 160.8677, 127.1964, 147.7143, 177.7059, 102.2857}));
}

TEST(Resize, MultipliesByItsUnit) {
  float from = 3, to = 0;
  ResizeMemory memory;
  setBoth({0, 0, 1, 1}, 1, 1, memory);
  resize(Pixels<float>{&from, 1, 1, 1}, 0.5f, memory, &to);
  EXPECT_EQ(to, 1.5f);
}

// To the bit, whatever was scaled in the same memory before.
TEST(Resize, ScalesEachColourAsAPlane) {
  ResizeMemory memory;
  for (int64_t colour : {0, 1, 2})
    for (auto [height, width] : {std::pair(2, 3), {9, 23}, {4, 3}, {1, 1}})
      for (const Box &box : {Box{0, 0, 6, 7}, {1, 2, 4, 3}, {2, 0, 3, 7}})
        EXPECT_EQ(resizedColour(colour, box, height, width, memory),
                  resized(box, height, width))
            << height << " x " << width;
}

// Halves of the first and the last number count as halves of a pixel do.
TEST(Resize, BeginsWithinANumber) {
  Taps taps;
  setTaps({0.5, 2}, 3, 1, 1, taps);
  ASSERT_EQ(taps.each.size(), 1u);
  EXPECT_EQ(taps.each[0].first, 0);
  // The middle is 1.5, the reach 2: weights 1/2, 1, 1/2.
  EXPECT_THAT(taps.weights, testing::ElementsAre(0.25f, 0.5f, 0.25f));
}
