// Parts of a plane scaled as torchvision 0.29 scales them:
// functional.resized_crop(plane, top, left, height, width, size,
// antialias=True).

#include "frontends/data/resize.h"
#include "frontends/data/resized_crop.h"

#include <gmock/gmock.h>

using namespace gradus::data;
using testing::FloatNear;
using testing::Pointwise;

/// (37 y y + 91 x + 13 x y) mod 256 in 6 x 7 pixels.
static std::vector<float> partOf(const Box &box) {
  std::vector<float> part;
  for (int64_t y = box.top; y < box.top + box.height; ++y)
    for (int64_t x = box.left; x < box.left + box.width; ++x)
      part.push_back((37 * y * y + 91 * x + 13 * x * y) % 256);
  return part;
}

static std::vector<float> resized(const Box &box, int64_t height,
                                  int64_t width) {
  std::vector<float> to(height * width);
  resize(partOf(box), box.width, tapsOf(box.height, height, height),
         tapsOf(box.width, width, width), 1, to.data());
  return to;
}

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
  float to = 0;
  resize({3}, 1, tapsOf(1, 1, 1), tapsOf(1, 1, 1), 0.5f, &to);
  EXPECT_EQ(to, 1.5f);
}
