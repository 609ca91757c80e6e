// Scaling, the middle, and the colours.

#include "tests/training/data/files.h"
#include "tests/training/data/images.h"
#include "training/data/image_file.h"

using namespace gradus::data;
using testing::ElementsAre;
using testing::FloatEq;
using testing::Pointwise;

static std::vector<float> fit(const Image &image, int64_t channels,
                              int64_t height, int64_t width) {
  std::vector<float> to(channels * height * width);
  ImageMemory memory;
  fitImage(image, {channels, height, width}, memory, to.data());
  for (float &value : to)
    value *= 255;
  return to;
}

TEST(FitImage, LeavesAnImageOfTheRightSizeAlone) {
  EXPECT_THAT(fit({2, 2, 1, {10, 20, 30, 40}}, 1, 2, 2),
              Pointwise(FloatEq(), {10, 20, 30, 40}));
}

TEST(FitImage, PutsColoursIntoPlanesAndGreyIntoAll) {
  EXPECT_THAT(fit({2, 1, 3, {1, 2, 3, 4, 5, 6}}, 3, 1, 2),
              Pointwise(FloatEq(), {1, 4, 2, 5, 3, 6}));
  EXPECT_THAT(fit({1, 1, 1, {9}}, 3, 1, 1), Pointwise(FloatEq(), {9, 9, 9}));
}

TEST(FitImage, WeighsColoursToGrey) {
  EXPECT_THAT(fit({2, 1, 3, {255, 0, 0, 255, 255, 255}}, 1, 1, 2),
              Pointwise(FloatEq(), {76, 255}));
}

TEST(FitImage, TakesTheMiddleOfWhatIsTooLong) {
  EXPECT_THAT(fit({4, 2, 1, {1, 2, 3, 4, 5, 6, 7, 8}}, 1, 2, 2),
              Pointwise(FloatEq(), {2, 3, 6, 7}));
}

TEST(FitImage, GrowsBilinearly) {
  EXPECT_THAT(fit({2, 2, 1, {0, 100, 0, 100}}, 1, 4, 4),
              Pointwise(FloatEq(), {0, 25, 75, 100, 0, 25, 75, 100, 0, 25, 75,
                                    100, 0, 25, 75, 100}));
}

TEST(FitImage, ShrinksByMeans) {
  // Weights 3, 3, 1 of 7 on the left and the mirror image on the right.
  EXPECT_THAT(
      fit({4, 4, 1, {0, 0, 70, 70, 0, 0, 70, 70, 0, 0, 70, 70, 0, 0, 70, 70}},
          1, 2, 2),
      Pointwise(FloatEq(), {10, 60, 10, 60}));
}

TEST(FitImage, ScalesAPartToAnyShape) {
  Image image{
      3, 2, 3, {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19}};
  std::vector<float> to(6);
  ImageMemory memory;
  cropImage({image, {0, 1, 2, 2}, {0, 2}, {0, 2}}, {3, 1, 2}, memory,
            to.data());
  for (float &value : to)
    value *= 255;
  EXPECT_THAT(to, Pointwise(FloatEq(), {9, 12, 10, 13, 11, 14}));
}

TEST(FitImage, KeepsOneColourWhateverTheSizes) {
  for (float value : fit(plainImage(37, 11, {77}), 1, 24, 19))
    EXPECT_NEAR(value, 77, 1e-4);
}
