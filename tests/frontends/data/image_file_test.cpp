// PNG and JPEG files: what is read of whole ones, and that damaged ones are
// refused.

#include "frontends/data/image_file.h"
#include "tests/frontends/data/files.h"
#include "tests/frontends/data/images.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace gradus::data;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

gradus::runtime::StatusOr<Image> decode(const std::string &file) {
  return decodeImage(
      {reinterpret_cast<const uint8_t *>(file.data()), file.size()});
}

std::vector<uint8_t> pixelsOf(const std::string &file) {
  auto image = decode(file);
  EXPECT_TRUE(image.ok()) << image.status();
  return image.ok() ? image->pixels : std::vector<uint8_t>();
}

/// Neighbours differ, so that nothing packs to nothing.
Image noise(int64_t channels) {
  Image image{31, 17, channels, {}};
  for (int64_t i = 0; i < 31 * 17 * channels; ++i)
    image.pixels.push_back(i * i * 7 % 251);
  return image;
}

/// A PNG file of rows as they are packed in it, `before` its data.
std::string packedPng(uint32_t width, uint32_t height, char bits, char colours,
                      const std::string &rows, const std::string &before = "") {
  std::string header = bigEndian(width) + bigEndian(height) + bits + colours;
  return "\x89PNG\r\n\x1a\n" + pngPart("IHDR", header + std::string(3, '\0')) +
         before + pngPart("IDAT", deflated(rows)) + pngPart("IEND", "");
}

/// A JPEG file of one grey component whose only code, 0, is the symbol 0.
std::string bareJpeg(uint8_t frame, uint8_t size, const std::string &scans) {
  std::string tables;
  for (uint8_t table : {0x00, 0x10})
    tables +=
        jpegPart(0xc4, std::string(1, table) + '\x01' + std::string(16, '\0'));
  std::string sizes{8, 0, char(size), 0, char(size), 1, 1, 0x11, 0};
  return "\xff\xd8" + jpegPart(0xdb, '\0' + std::string(64, '\x01')) +
         jpegPart(frame, sizes) + tables + scans + "\xff\xd9";
}

std::string jpegScan(char last) {
  return jpegPart(0xda, std::string{1, 1, 0, 0, last, 0});
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

TEST(ImageFile, ReadsEachKindOfPng) {
  EXPECT_THAT(pixelsOf(packedPng(4, 1, 2, 0, {0, 0x1b})),
              ElementsAre(0, 85, 170, 255));
  EXPECT_THAT(pixelsOf(packedPng(1, 1, 16, 0, {0, '\x80', '\x80'})),
              ElementsAre(128));
  EXPECT_THAT(pixelsOf(packedPng(1, 1, 8, 6, {0, 1, 2, 3, 4})),
              ElementsAre(1, 2, 3));
  EXPECT_THAT(pixelsOf(packedPng(1, 1, 8, 4, {0, 9, 4})), ElementsAre(9));
  std::string palette = pngPart("PLTE", {1, 2, 3, 4, 5, 6}) +
                        pngPart("tRNS", std::string(2, '\0'));
  EXPECT_THAT(pixelsOf(packedPng(2, 1, 1, 3, {0, 0x40}, palette)),
              ElementsAre(1, 2, 3, 4, 5, 6));
}

// As Pillow: a pixel is its number in the file.
TEST(ImageFile, LeavesTheGammaOfPngAlone) {
  std::string linear = pngPart("gAMA", bigEndian(100000));
  for (char bits : {8, 16}) {
    std::string row(bits == 8 ? 2 : 3, 64);
    row[0] = 0;
    EXPECT_THAT(pixelsOf(packedPng(1, 1, bits, 0, row, linear)),
                ElementsAre(64));
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

TEST(ImageFile, RefusesCodesThatAreNone) {
  auto file = [](char code) {
    return bareJpeg(0xc0, 64, jpegScan(63) + std::string(4000, code));
  };
  EXPECT_THAT(wordsOf(decode(file('\xaa')).status()),
              HasSubstr("cannot be decoded: Corrupt JPEG data: bad Huffman"));
  EXPECT_EQ(wordsOf(decode(file('\0')).status()), "");
}

// Each costs a pass over all pixels.
TEST(ImageFile, RefusesManyScans) {
  auto file = [](int count) {
    std::string scans;
    for (int i = 0; i < count; ++i)
      scans += jpegScan(0) + '\x7f';
    return bareJpeg(0xc2, 8, scans);
  };
  EXPECT_EQ(wordsOf(decode(file(1)).status()), "");
  EXPECT_THAT(wordsOf(decode(file(5000)).status()),
              HasSubstr("cannot be decoded: Invalid progressive parameters"));
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

TEST(ImageFile, OutlivesAFileThatIsCutShortMeanwhile) {
  Folder folder;
  Image pixels{256, 256, 3, {}};
  uint32_t noise = 1; // so that it is long when packed, too
  for (int64_t i = 0; i < 256 * 256 * 3; ++i)
    pixels.pixels.push_back((noise = noise * 1664525 + 1013904223) >> 24);
  const std::string whole = pngFile(pixels);
  ASSERT_GT(whole.size(), 100000u);
  std::string path = folder.write("x.png", whole);
  std::atomic<bool> stop = false;
  std::thread cutter([&] {
    while (!stop) {
      std::filesystem::resize_file(path, 5000);
      std::ofstream(path, std::ios::binary) << whole;
    }
  });
  for (int i = 0; i < 300; ++i)
    (void)readImage(path); // an image or an error, and no end of the process
  stop = true;
  cutter.join();
  EXPECT_TRUE(readImage(path).ok());
}

TEST(ImageFile, IsNotReadWhereItIsLongerThanAny) {
  Folder folder;
  std::string path = folder.write("x.png", "");
  std::filesystem::resize_file(path, uintmax_t{1} << 40); // a hole
  EXPECT_THAT(wordsOf(readImage(path).status()),
              HasSubstr("has 1099511627776 bytes; an image has at most"));
}
