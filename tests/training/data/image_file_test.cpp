// PNG and JPEG files: what is read of whole ones, and that damaged ones are
// refused.

#include "tests/training/data/files.h"
#include "tests/training/data/images.h"
#include "training/data/image_file.h"

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <thread>

using namespace gradus::data;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

std::span<const uint8_t> bytesOf(const std::string &file) {
  return {reinterpret_cast<const uint8_t *>(file.data()), file.size()};
}

gradus::runtime::StatusOr<Image> decode(const std::string &file) {
  Image image;
  if (auto status = decodeImage(bytesOf(file), image); !status.ok())
    return status;
  return image;
}

gradus::runtime::Status read(const std::string &path) {
  ImageMemory memory;
  return readImage(path, memory);
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

/// The whole image at a scale, as libjpeg decodes it.
Image decodedAt(int eighths, const std::string &file) {
  jpeg_decompress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, bytesOf(file).data(), file.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg.scale_num = eighths;
  jpeg.scale_denom = 8;
  jpeg_start_decompress(&jpeg);
  Image image{
      jpeg.output_width, jpeg.output_height, jpeg.output_components, {}};
  image.pixels.resize(image.width * image.height * image.channels);
  for (JSAMPROW row = image.pixels.data();
       jpeg.output_scanline < jpeg.output_height;
       row += image.width * image.channels)
    jpeg_read_scanlines(&jpeg, &row, 1);
  jpeg_finish_decompress(&jpeg);
  jpeg_destroy_decompress(&jpeg);
  return image;
}

std::vector<uint8_t> pixelsIn(const Image &image, const Box &box) {
  std::vector<uint8_t> pixels;
  for (int64_t y = box.top; y < box.top + box.height; ++y) {
    auto row =
        image.pixels.begin() + (y * image.width + box.left) * image.channels;
    pixels.insert(pixels.end(), row, row + box.width * image.channels);
  }
  return pixels;
}

/// Waves and edges, which differ in each colour.
Image scene(int64_t width, int64_t height, int64_t channels) {
  Image image{width, height, channels, {}};
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < channels; ++c)
        image.pixels.push_back(128 + 60 * std::sin(x * 0.11 * (c + 1)) +
                               40 * std::cos(y * 0.07) +
                               ((x / 19 + y / 23 + c) % 2 ? 20 : -20));
  return image;
}

/// Small and large parts, of all shapes.
constexpr ResizedCrop kAnyPart = {{0.01, 1}, {0.2, 5}};

/// Parts of a file are pixels of the whole decoded at their scale.
void expectPartsOfWhole(const std::string &file, const ImageShape &to) {
  Image whole;
  ASSERT_TRUE(decodeImage(bytesOf(file), whole).ok());
  ImagePart found; // one for all, as threads have it
  for (uint64_t draw = 0; draw < 60; ++draw) {
    Box box = cropBox(kAnyPart, whole.height, whole.width, draw);
    int eighths = jpegEighths(box, to.height, to.width);
    auto status = decodePart(bytesOf(file), {kAnyPart, draw, to}, found);
    ASSERT_TRUE(status.ok()) << status;
    ASSERT_EQ(pixelsIn(found.image, found.box),
              pixelsIn(decodedAt(eighths, file), jpegPart(box, eighths).box))
        << "draw " << draw << " at " << eighths << "/8";
  }
}

/// The values of a part of a file, scaled.
std::vector<float> partOf(const std::string &file, const RandomPart &part) {
  ImageMemory memory;
  EXPECT_TRUE(decodePart(bytesOf(file), part, memory.part).ok());
  std::vector<float> to(part.shape.channels * part.shape.height *
                        part.shape.width);
  cropImage(memory.part, part.shape, memory, to.data());
  return to;
}

/// Maximum and mean difference of scaled parts decoded in full and at a scale.
std::pair<double, double> differenceOf(const Image &image) {
  const std::string file = jpegFile(image, {.across = 1, .down = 1});
  double largest = 0, sum = 0;
  int64_t count = 0;
  for (uint64_t draw = 0; draw < 20; ++draw) {
    RandomPart part{{.scale = {0.3, 1}}, draw, {3, 24, 24}};
    std::vector<float> scaled = partOf(file, part);
    part.crop.scaledDecoding = false;
    std::vector<float> full = partOf(file, part);
    for (size_t i = 0; i < full.size(); ++i, ++count) {
      largest = std::max<double>(largest, std::abs(full[i] - scaled[i]));
      sum += std::abs(full[i] - scaled[i]);
    }
  }
  return {largest, sum / count};
}

} // namespace

// Interpolated colours and rows that are left out make no difference.
TEST(ImageFile, DecodesPartsOfJpegToTheBit) {
  for (auto [width, height] : {std::pair(203, 149), {64, 64}, {17, 90}})
    for (int64_t small : {5, 40, 1000})
      for (auto [across, down] : {std::pair(1, 1), {2, 1}, {1, 2}, {2, 2}})
        expectPartsOfWhole(jpegFile(scene(width, height, 3), {across, down}),
                           {3, small, small});
}

TEST(ImageFile, DecodesPartsOfEachKindOfJpeg) {
  expectPartsOfWhole(jpegFile(scene(203, 149, 1)), {1, 20, 20});
  expectPartsOfWhole(jpegFile(scene(203, 149, 3), {.progressive = true}),
                     {3, 20, 20});
  expectPartsOfWhole(jpegFile(scene(203, 149, 3), {.restart = 3}), {3, 20, 20});
}

TEST(ImageFile, FindsPartsOfPng) {
  Image image = scene(41, 23, 3);
  ImagePart found;
  ASSERT_TRUE(
      decodePart(bytesOf(pngFile(image)), {kAnyPart, 5, {3, 4, 4}}, found)
          .ok());
  EXPECT_EQ(pixelsIn(found.image, found.box),
            pixelsIn(image, cropBox(kAnyPart, 23, 41, 5)));
}

// Which is what a part needs: nothing of it is moved by a fraction of a pixel.
TEST(ImageFile, DecodesAtAScaleWhatIsInPlaceInFull) {
  Image ramp{256, 192, 3, {}};
  for (int64_t i = 0; i < 256 * 192; ++i)
    for (int64_t value : {i % 256, i / 256, 255 - i % 256})
      ramp.pixels.push_back(value);
  auto [largest, mean] = differenceOf(ramp);
  EXPECT_LT(largest * 255, 1.5);
  EXPECT_LT(mean * 255, 0.5);
  EXPECT_GT(mean, 0) << "both were decoded in full";
}

// At an edge more than elsewhere, of which the mean says more.
TEST(ImageFile, DecodesAtAScaleWhatLooksAlike) {
  auto [largest, mean] = differenceOf(scene(403, 301, 3));
  EXPECT_LT(largest, 0.15);
  EXPECT_LT(mean, 0.015);
}

TEST(ImageFile, RefusesAPartOfAFileThatIsCutOff) {
  std::string file = jpegFile(scene(203, 149, 3));
  ImagePart found;
  for (uint64_t draw = 0; draw < 30; ++draw)
    for (size_t size : {file.size() / 3, file.size() - 2})
      EXPECT_THAT(wordsOf(decodePart(bytesOf(file.substr(0, size)),
                                     {kAnyPart, draw, {3, 8, 8}}, found)),
                  HasSubstr("cannot be decoded: Premature end of JPEG"))
          << "draw " << draw << ", " << size << " bytes";
}

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
      ImagePart part;
      (void)decodePart(bytesOf(damaged), {kAnyPart, i, {3, 8, 8}}, part);
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
  EXPECT_THAT(wordsOf(read(path)),
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
    (void)read(path); // an image or an error, and no end of the process
  stop = true;
  cutter.join();
  EXPECT_TRUE(read(path).ok());
}

TEST(ImageFile, IsNotReadWhereItIsLongerThanAny) {
  Folder folder;
  std::string path = folder.write("x.png", "");
  std::filesystem::resize_file(path, uintmax_t{1} << 40); // a hole
  EXPECT_THAT(wordsOf(read(path)),
              HasSubstr("has 1099511627776 bytes; an image has at most"));
}
