// PNG and JPEG files: what is read of whole ones, and that damaged ones are
// refused.

#include "frontends/data/image_file.h"
#include "tests/frontends/data/files.h"
#include "tests/frontends/data/images.h"

using namespace gradus::data;
using testing::Each;
using testing::HasSubstr;

namespace {

gradus::runtime::StatusOr<Image> decode(const std::string &file) {
  return decodeImage(
      {reinterpret_cast<const uint8_t *>(file.data()), file.size()});
}

/// Neighbours differ, so that nothing packs to nothing.
Image noise(int64_t channels) {
  Image image{31, 17, channels, {}};
  for (int64_t i = 0; i < 31 * 17 * channels; ++i)
    image.pixels.push_back(i * i * 7 % 251);
  return image;
}

} // namespace

TEST(ImageFile, ReadsPngToTheBit) {
  for (int64_t channels : {1, 3}) {
    Image image = noise(channels);
    auto read = decode(pngFile(image));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->channels, channels);
    EXPECT_EQ(read->width, 31);
    EXPECT_EQ(read->pixels, image.pixels);
  }
}

TEST(ImageFile, ReadsJpegInItsColours) {
  auto colour = decode(jpegFile(plainImage(20, 9, {255, 0, 0})));
  ASSERT_TRUE(colour.ok()) << colour.status();
  EXPECT_EQ(colour->channels, 3);
  EXPECT_EQ(colour->height, 9);
  EXPECT_NEAR(colour->pixels[0], 255, 3);
  EXPECT_NEAR(colour->pixels[1], 0, 3);
  auto grey = decode(jpegFile(plainImage(20, 9, {100})));
  ASSERT_TRUE(grey.ok()) << grey.status();
  EXPECT_EQ(grey->channels, 1);
  EXPECT_THAT(grey->pixels, Each(100));
}

TEST(ImageFile, RefusesFilesThatAreCutOff) {
  for (const std::string &file : {pngFile(noise(3)), jpegFile(noise(3))})
    for (size_t size :
         {size_t(0), size_t(3), size_t(20), file.size() / 2, file.size() - 40})
      EXPECT_FALSE(decode(file.substr(0, size)).ok()) << size;
}

// Any answer will do, but there must be one.
TEST(ImageFile, SurvivesFlippedBytes) {
  for (const std::string &file : {pngFile(noise(1)), jpegFile(noise(3))})
    for (size_t i = 0; i < file.size(); ++i) {
      std::string damaged = file;
      damaged[i] ^= 0x5a;
      auto image = decode(damaged);
      if (image.ok()) {
        EXPECT_EQ(std::ssize(image->pixels),
                  image->width * image->height * image->channels);
      }
    }
}

TEST(ImageFile, RefusesMorePixelsThanItReads) {
  std::string png = pngFile(plainImage(1, 1, {0}));
  png.replace(16, 8, std::string("\0\1\0\0\0\1\0\0", 8)); // 65536 x 65536
  EXPECT_FALSE(decode(png).ok());
  std::string jpeg = jpegFile(plainImage(8, 8, {0}));
  size_t frame = jpeg.find("\xff\xc0");
  ASSERT_NE(frame, jpeg.npos);
  jpeg.replace(frame + 5, 4, "\x7f\xff\x7f\xff");
  EXPECT_THAT(wordsOf(decode(jpeg).status()),
              HasSubstr("pixels; at most 67108864 are read"));
}

TEST(ImageFile, NamesAFileThatIsNoImage) {
  Folder folder;
  std::string path = folder.write("x.png", "GIF89a");
  EXPECT_THAT(wordsOf(readImage(path).status()),
              HasSubstr(path + ": is neither a PNG nor a JPEG file"));
  EXPECT_TRUE(hasImageName("a/B.JPEG"));
  EXPECT_FALSE(hasImageName("notes.txt"));
}
