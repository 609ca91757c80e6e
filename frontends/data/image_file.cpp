// PNG by libpng's simplified interface, JPEG by libjpeg. Damaged files are told
// by these libraries; what they would fill up silently is an error here.

#include "frontends/data/image_file.h"

#include "runtime/file.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include <csetjmp>
#include <cstdio> // which jpeglib.h needs
#include <cstring>

#include <jpeglib.h>
#include <png.h>

// Its numbers are libjpeg's messages.
#include <jerror.h>

using namespace gradus::runtime;

namespace gradus::data {
namespace {

constexpr int64_t kMostPixels = int64_t(1) << 26;
constexpr int kMostScans = 256; // of a progressive JPEG: more is an attack

runtime::Status checkSize(int64_t width, int64_t height) {
  if (width * height <= kMostPixels)
    return runtime::Status();
  return invalid("has ", width, " x ", height, " pixels; at most ", kMostPixels,
                 " are read");
}

//===-- PNG ---------------------------------------------------------------===//

/// Drops the last of each `channels` bytes.
void dropAlpha(const std::vector<uint8_t> &from, int64_t channels,
               std::vector<uint8_t> &to) {
  for (size_t i = 0; i < to.size(); ++i)
    to[i] = from[i / (channels - 1) * channels + i % (channels - 1)];
}

runtime::StatusOr<Image> readPng(png_image &png) {
  GRADUS_TRY(checkSize(png.width, png.height));
  bool colour = png.format & PNG_FORMAT_FLAG_COLOR;
  // With alpha, which is then left out: without it libpng would want a
  // background.
  png.format = colour ? PNG_FORMAT_RGBA : PNG_FORMAT_GA;
  png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
  std::vector<uint8_t> bytes(PNG_IMAGE_SIZE(png));
  if (!png_image_finish_read(&png, nullptr, bytes.data(), 0, nullptr))
    return invalid("cannot be decoded: ", std::string_view(png.message));
  Image image{png.width, png.height, colour ? 3 : 1, {}};
  image.pixels.resize(image.width * image.height * image.channels);
  dropAlpha(bytes, image.channels + 1, image.pixels);
  return image;
}

runtime::StatusOr<Image> decodePng(std::span<const uint8_t> file) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  if (!png_image_begin_read_from_memory(&png, file.data(), file.size()))
    return invalid("cannot be decoded: ", std::string_view(png.message));
  auto image = readPng(png);
  png_image_free(&png);
  return image;
}

//===-- JPEG --------------------------------------------------------------===//

/// libjpeg leaves by a jump where something is wrong.
struct JpegErrors {
  jpeg_error_mgr base = {};
  std::jmp_buf leave;
  char words[JMSG_LENGTH_MAX] = "";
};

[[noreturn]] void leave(j_common_ptr jpeg) {
  auto *errors = reinterpret_cast<JpegErrors *>(jpeg->err);
  jpeg->err->format_message(jpeg, errors->words);
  std::longjmp(errors->leave, 1);
}

/// A file that ends early would be filled up in grey.
void onMessage(j_common_ptr jpeg, int level) {
  int code = jpeg->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER))
    leave(jpeg);
}

void onProgress(j_common_ptr jpeg) {
  if (reinterpret_cast<jpeg_decompress_struct *>(jpeg)->input_scan_number >
      kMostScans) {
    jpeg->err->msg_code = JERR_BAD_PROGRESSION;
    leave(jpeg);
  }
}

/// Reads the header; false: see the errors. Nothing here needs a destructor,
/// which a jump would pass over.
bool readJpegHeader(jpeg_decompress_struct &jpeg, JpegErrors &errors,
                    std::span<const uint8_t> file) {
  if (setjmp(errors.leave))
    return false;
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, file.data(), file.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space =
      jpeg.jpeg_color_space == JCS_GRAYSCALE ? JCS_GRAYSCALE : JCS_RGB;
  return true;
}

bool readJpegPixels(jpeg_decompress_struct &jpeg, JpegErrors &errors,
                    uint8_t *pixels, size_t rowBytes) {
  if (setjmp(errors.leave))
    return false;
  jpeg_start_decompress(&jpeg);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = pixels + jpeg.output_scanline * rowBytes;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

runtime::StatusOr<Image> readJpeg(jpeg_decompress_struct &jpeg,
                                  JpegErrors &errors,
                                  std::span<const uint8_t> file) {
  auto damaged = [&] {
    return invalid("cannot be decoded: ", std::string_view(errors.words));
  };
  if (!readJpegHeader(jpeg, errors, file))
    return damaged();
  GRADUS_TRY(checkSize(jpeg.image_width, jpeg.image_height));
  Image image{jpeg.image_width,
              jpeg.image_height,
              jpeg.out_color_space == JCS_RGB ? 3 : 1,
              {}};
  image.pixels.resize(image.width * image.height * image.channels);
  if (!readJpegPixels(jpeg, errors, image.pixels.data(),
                      image.width * image.channels))
    return damaged();
  return image;
}

runtime::StatusOr<Image> decodeJpeg(std::span<const uint8_t> file) {
  JpegErrors errors;
  jpeg_decompress_struct jpeg = {};
  jpeg.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  errors.base.emit_message = onMessage;
  jpeg_progress_mgr progress = {};
  progress.progress_monitor = onProgress;
  jpeg.progress = &progress;
  auto image = readJpeg(jpeg, errors, file);
  jpeg_destroy_decompress(&jpeg);
  return image;
}

} // namespace

runtime::StatusOr<Image> decodeImage(std::span<const uint8_t> file) {
  constexpr uint8_t kPng[] = {0x89, 'P', 'N', 'G'}, kJpeg[] = {0xff, 0xd8};
  auto begins = [&](std::span<const uint8_t> with) {
    return file.size() >= with.size() &&
           std::equal(with.begin(), with.end(), file.begin());
  };
  if (begins(kPng))
    return decodePng(file);
  if (begins(kJpeg))
    return decodeJpeg(file);
  return invalid("is neither a PNG nor a JPEG file");
}

runtime::StatusOr<Image> readImage(const std::string &path) {
  GRADUS_ASSIGN(MappedFile file, MappedFile::open(path));
  auto image = decodeImage(file.bytes());
  if (!image.ok())
    return at(image.status(), path);
  return image;
}

bool hasImageName(const std::string &path) {
  std::string name = absl::AsciiStrToLower(path);
  for (const char *ending : {".png", ".jpg", ".jpeg"})
    if (absl::EndsWith(name, ending))
      return true;
  return false;
}

} // namespace gradus::data
