// The scale at which a crop is decoded, and where it is then.

#include "training/data/jpeg_part.h"

#include <gmock/gmock.h>

using namespace gradus::data;

// At half the scale, 448 x 448 pixels are the last that are enough.
TEST(JpegPart, IsDecodedAtTheSmallestScaleThatIsEnough) {
  EXPECT_EQ(jpegEighths({0, 0, 448, 448}, 224, 224), 4);
  EXPECT_EQ(jpegEighths({0, 0, 447, 1000}, 224, 224), 8);
  EXPECT_EQ(jpegEighths({0, 0, 1000, 447}, 224, 224), 8);
  EXPECT_EQ(jpegEighths({0, 0, 896, 896}, 224, 224), 2);
  EXPECT_EQ(jpegEighths({0, 0, 895, 896}, 224, 224), 4);
  EXPECT_EQ(jpegEighths({0, 0, 1792, 1792}, 224, 224), 1);
  EXPECT_EQ(jpegEighths({0, 0, 9000, 9000}, 224, 224), 1);
}

TEST(JpegPart, IsDecodedInFullWhereItGrows) {
  EXPECT_EQ(jpegEighths({5, 5, 20, 20}, 224, 224), 8);
}

TEST(JpegPart, OfTheWholeScaleIsTheCrop) {
  JpegPart part = jpegPart({3, 5, 7, 11}, 8);
  EXPECT_EQ(part.box.top, 3);
  EXPECT_EQ(part.box.left, 5);
  EXPECT_EQ(part.box.height, 7);
  EXPECT_EQ(part.box.width, 11);
  EXPECT_EQ(part.rows.begin, 0);
  EXPECT_EQ(part.rows.size, 7);
  EXPECT_EQ(part.columns.begin, 0);
  EXPECT_EQ(part.columns.size, 11);
}

// Rows 3 to 10 are 1.5 to 5 at half the scale: pixels 1 to 4, from 0.5 on.
TEST(JpegPart, TouchesPixelsOfTheScaledImage) {
  JpegPart part = jpegPart({3, 8, 7, 9}, 4);
  EXPECT_EQ(part.eighths, 4);
  EXPECT_EQ(part.box.top, 1);
  EXPECT_EQ(part.box.height, 4);
  EXPECT_EQ(part.rows.begin, 0.5);
  EXPECT_EQ(part.rows.size, 3.5);
  EXPECT_EQ(part.box.left, 4);
  EXPECT_EQ(part.box.width, 5);
  EXPECT_EQ(part.columns.begin, 0);
  EXPECT_EQ(part.columns.size, 4.5);
}
