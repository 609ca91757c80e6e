// Boxes by torchvision 0.29's own RandomResizedCrop.get_params, whose uniform
// numbers were replaced by these.

#include "training/data/resized_crop.h"

#include <gmock/gmock.h>

using namespace gradus::data;

namespace gradus::data {
static bool operator==(const Box &a, const Box &b) {
  return a.top == b.top && a.left == b.left && a.height == b.height &&
         a.width == b.width;
}
static void PrintTo(const Box &box, std::ostream *out) {
  *out << box.top << " " << box.left << " " << box.height << " " << box.width;
}
} // namespace gradus::data

namespace {

struct Case {
  int64_t height, width;
  ResizedCrop crop;
  std::vector<double> uniform;
  Box box;
};

const ResizedCrop kUsual;

const Case kCases[] = {
    {375,
     500,
     kUsual,
     {0.134364, 0.847434, 0.763775, 0.255069},
     {151, 72, 177, 216}},
    {375,
     500,
     kUsual,
     {0.255294, 0.841745, 0.673114, 0.083234},
     {105, 19, 220, 268}},
    // The first try is too high.
    {28,
     28,
     kUsual,
     {0.878718, 0.037917, 0.819414, 0.962201, 0.570281, 0.171517, 0.867781,
      0.973775},
     {4, 8, 24, 20}},
    {28, 28, kUsual, {0.307321, 0.246381, 0.081369, 0.280787}, {0, 3, 18, 16}},
    {32,
     32,
     {{0.5, 1}, {1, 1}},
     {0.714824, 0.667779, 0.252586, 0.064414},
     {0, 0, 30, 30}},
    {9,
     7,
     {{0.08, 0.3}, {0.5, 2}},
     {0.898748, 0.925164, 0.846344, 0.383416},
     {5, 0, 3, 6}},
    {5,
     1,
     kUsual,
     {0.502867, 0.855286, 0.967752, 0.768895, 0.421192, 0.27198, 0.097732,
      0.831027},
     {0, 0, 2, 1}},
    // Ten tries do not fit: the middle.
    {40,
     300,
     {{0.6, 1}, {0.75, 4.0 / 3}},
     {0.492702, 0.745768, 0.640355, 0.648745, 0.629675, 0.406999, 0.629262,
      0.633733, 0.937118, 0.782474, 0.846268, 0.7675,   0.815326, 0.605462,
      0.34945,  0.264583, 0.70802,  0.873942, 0.544247, 0.15207},
     {0, 123, 40, 53}},
    {300,
     40,
     {{0.9, 1}, {0.75, 4.0 / 3}},
     {0.15101,  0.918647, 0.854569, 0.852164, 0.052811, 0.091218, 0.813056,
      0.469167, 0.370253, 0.984687, 0.040118, 0.531465, 0.44335,  0.128203,
      0.395188, 0.707647, 0.882316, 0.02462,  0.52451,  0.090377},
     {123, 0, 53, 40}},
    {64,
     64,
     {{1, 1}, {2, 3}},
     {0.803563, 0.641193, 0.843326, 0.60616,  0.870385, 0.405163, 0.679003,
      0.620637, 0.527734, 0.56444,  0.535762, 0.393771, 0.898319, 0.632729,
      0.549123, 0.053939, 0.508528, 0.175147, 0.215023, 0.434612},
     {16, 0, 32, 64}},
};

} // namespace

TEST(ResizedCrop, TakesTheBoxesOfTorchvision) {
  for (const Case &each : kCases) {
    size_t used = 0;
    Box box = cropBox(each.crop, each.height, each.width,
                      [&] { return each.uniform.at(used++); });
    EXPECT_EQ(box, each.box) << each.height << "x" << each.width;
    EXPECT_EQ(used, each.uniform.size());
  }
}

TEST(ResizedCrop, TakesTheWholeOfAFittingImageThatNoTryFits) {
  EXPECT_EQ(cropBox({{1, 1}, {0.5, 2}}, 3, 5, [] { return 0.0; }),
            (Box{0, 0, 3, 5}));
}

TEST(ResizedCrop, LeavesAPixelOfTheLongestImage) {
  EXPECT_EQ(cropBox({{0.1, 0.1}, {100, 200}}, 100, 1, [] { return 0.5; }),
            (Box{49, 0, 1, 1}));
}

TEST(ResizedCrop, IsAFunctionOfTheDraw) {
  double area = 0;
  for (uint64_t draw = 0; draw < 400; ++draw) {
    Box box = cropBox(kUsual, 100, 120, draw);
    EXPECT_EQ(box, cropBox(kUsual, 100, 120, draw));
    ASSERT_TRUE(box.top >= 0 && box.left >= 0 && box.top + box.height <= 100 &&
                box.left + box.width <= 120);
    area += box.height * box.width / 12000.0 / 400;
  }
  EXPECT_NEAR(area, 0.464, 0.04)
      << "of 40,000 boxes by the same rule written in "
         "Python";
}
