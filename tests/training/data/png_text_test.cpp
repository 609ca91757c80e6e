// A picture in text is a PNG with the same pixels.

#include "training/data/png_text.h"

#include "absl/strings/escaping.h"

#include <gtest/gtest.h>
#include <png.h>

using gradus::data::Image;
using gradus::data::pngText;

/// The pixels of a picture in text; empty if it is no PNG of that size.
static std::vector<uint8_t> pixelsOf(const std::string &text, uint32_t width,
                                     uint32_t height, uint32_t format) {
  const std::string head = "data:image/png;base64,";
  std::string file;
  if (text.find(head) != 0 ||
      !absl::Base64Unescape(text.substr(head.size()), &file))
    return {};
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&image, file.data(), file.size()) ||
      image.width != width || image.height != height)
    return {};
  image.format = format;
  std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(image));
  if (!png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr))
    return {};
  return pixels;
}

TEST(PngText, HasThePixelsOfTheImage) {
  Image gray{3, 2, 1, {0, 50, 100, 150, 200, 255}};
  EXPECT_EQ(pixelsOf(pngText(gray), 3, 2, PNG_FORMAT_GRAY), gray.pixels);
  Image colours{1, 2, 3, {1, 2, 3, 250, 251, 252}};
  EXPECT_EQ(pixelsOf(pngText(colours), 1, 2, PNG_FORMAT_RGB), colours.pixels);
}

TEST(PngText, IsEmptyWithoutAPixel) { EXPECT_EQ(pngText(Image{}), ""); }

TEST(PngText, IsEmptyUnlessEachPixelHasItsBytes) {
  std::vector<uint8_t> six(6);
  EXPECT_NE(pngText({3, 2, 1, six}), "");
  EXPECT_EQ(pngText({3, 3, 1, six}), "") << "libpng would read beyond them";
  EXPECT_EQ(pngText({3, 1, 1, six}), "");
  EXPECT_EQ(pngText({2, 1, 3, std::vector<uint8_t>(5)}), "");
  EXPECT_EQ(pngText({3, 1, 2, six}), "") << "grey with transparency";
  EXPECT_EQ(pngText({-3, -2, 1, six}), "");
  EXPECT_EQ(pngText({(int64_t(1) << 32) + 3, 2, 1, six}), "");
}
