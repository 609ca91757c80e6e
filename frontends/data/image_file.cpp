// Reads PNG with libpng and JPEG with libjpeg. These libraries report damaged
// files; data that they would make up silently is an error here.

#include "frontends/data/image_file.h"

#include "frontends/data/guarded_read.h"
#include "runtime/file.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include <algorithm>
#include <csetjmp>
#include <cstdio> // jpeglib.h needs it
#include <cstring>

#include <jpeglib.h>
#include <png.h>

// Defines the numbers of libjpeg's messages.
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

/// State for libpng, which reports errors by longjmp.
struct Png {
  Png()
      : read(png_create_read_struct(PNG_LIBPNG_VER_STRING, this, fail, warn)) {
    info = read ? png_create_info_struct(read) : nullptr;
  }
  ~Png() { png_destroy_read_struct(&read, &info, nullptr); }
  Png(const Png &) = delete;

  [[noreturn]] static void fail(png_structp png, png_const_charp words);
  static void warn(png_structp, png_const_charp) {}
  static void give(png_structp png, png_bytep to, size_t count);

  std::span<const uint8_t> file; // not yet read
  char words[80] = "";
  png_structp read;
  png_infop info;
};

void Png::fail(png_structp png, png_const_charp words) {
  auto *self = static_cast<Png *>(png_get_error_ptr(png));
  std::snprintf(self->words, sizeof(self->words), "%s", words);
  png_longjmp(png, 1);
}

void Png::give(png_structp png, png_bytep to, size_t count) {
  auto *self = static_cast<Png *>(png_get_io_ptr(png));
  if (count > self->file.size())
    png_error(png, "the file ends early");
  std::copy_n(self->file.begin(), count, to);
  self->file = self->file.subspan(count);
}

/// Reads everything before the pixels, and asks for grey or RGB bytes; on
/// false, see `words`. Nothing here may need a destructor, which longjmp would
/// skip. Values stay as in the file: gamma and profiles are ignored.
bool readPngHeader(Png &png) {
  if (setjmp(png_jmpbuf(png.read)))
    return false;
  png_set_read_fn(png.read, &png, Png::give);
  png_read_info(png.read, png.info);
  png_set_scale_16(png.read);
  png_set_strip_alpha(png.read);
  png_set_packing(png.read);
  int colours = png_get_color_type(png.read, png.info);
  if (colours == PNG_COLOR_TYPE_PALETTE)
    png_set_palette_to_rgb(png.read);
  else if (colours == PNG_COLOR_TYPE_GRAY)
    png_set_expand_gray_1_2_4_to_8(png.read);
  png_set_interlace_handling(png.read);
  png_read_update_info(png.read, png.info);
  return true;
}

bool readPngPixels(Png &png, png_bytepp rows) {
  if (setjmp(png_jmpbuf(png.read)))
    return false;
  png_read_image(png.read, rows);
  png_read_end(png.read, nullptr);
  return true;
}

runtime::StatusOr<Image> decodePng(std::span<const uint8_t> file) {
  Png png;
  png.file = file;
  auto damaged = [&] {
    return invalid("cannot be decoded: ", std::string_view(png.words));
  };
  if (!png.info || !readPngHeader(png))
    return damaged();
  Image image{png_get_image_width(png.read, png.info),
              png_get_image_height(png.read, png.info),
              png_get_channels(png.read, png.info),
              {}};
  GRADUS_TRY(checkSize(image.width, image.height));
  size_t rowBytes = image.width * image.channels;
  if (png_get_rowbytes(png.read, png.info) != rowBytes)
    return invalid("has pixels that are neither grey nor RGB");
  image.pixels.resize(rowBytes * image.height);
  std::vector<png_bytep> rows;
  for (int64_t row = 0; row < image.height; ++row)
    rows.push_back(image.pixels.data() + row * rowBytes);
  return readPngPixels(png, rows.data()) ? runtime::StatusOr<Image>(image)
                                         : damaged();
}

//===-- JPEG --------------------------------------------------------------===//

/// State for libjpeg, which reports errors by longjmp.
struct JpegErrors {
  jpeg_error_mgr base = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf leave;
  char words[JMSG_LENGTH_MAX] = "";
  std::span<const uint8_t> rest; // not yet read
};

[[noreturn]] void leave(j_common_ptr jpeg) {
  auto *errors = reinterpret_cast<JpegErrors *>(jpeg->err);
  jpeg->err->format_message(jpeg, errors->words);
  std::longjmp(errors->leave, 1);
}

/// Ends decoding where libjpeg would make up pixels: at an early end of the
/// file or an invalid code. (Extra bytes before a marker, which cameras write,
/// are harmless.)
void onMessage(j_common_ptr jpeg, int level) {
  constexpr int kMadeUp[] = {JWRN_JPEG_EOF,      JWRN_HIT_MARKER,
                             JWRN_HUFF_BAD_CODE, JWRN_ARITH_BAD_CODE,
                             JWRN_MUST_RESYNC,   JWRN_BOGUS_PROGRESSION};
  if (level < 0 &&
      std::ranges::find(kMadeUp, jpeg->err->msg_code) != std::end(kMadeUp))
    leave(jpeg);
}

void onProgress(j_common_ptr jpeg) {
  if (reinterpret_cast<jpeg_decompress_struct *>(jpeg)->input_scan_number >
      kMostScans) {
    jpeg->err->msg_code = JERR_BAD_PROGRESSION;
    leave(jpeg);
  }
}

/// Passes the next piece of the file to libjpeg, below 512 bytes. From 512
/// bytes on, libjpeg uses a fast decoder that silently reads invalid codes as
/// zeros.
boolean givePiece(j_decompress_ptr jpeg) {
  auto &rest = reinterpret_cast<JpegErrors *>(jpeg->err)->rest;
  auto piece = rest.first(std::min(rest.size(), size_t(511)));
  if (piece.empty()) {
    jpeg->err->msg_code = JWRN_JPEG_EOF;
    leave(reinterpret_cast<j_common_ptr>(jpeg));
  }
  rest = rest.subspan(piece.size());
  jpeg->src->next_input_byte = piece.data();
  jpeg->src->bytes_in_buffer = piece.size();
  return TRUE;
}

/// Reads the header; on false, see the errors. Nothing here may need a
/// destructor, which longjmp would skip.
bool readJpegHeader(jpeg_decompress_struct &jpeg, JpegErrors &errors,
                    std::span<const uint8_t> file) {
  if (setjmp(errors.leave))
    return false;
  jpeg_create_decompress(&jpeg);
  jpeg.progress = &errors.progress; // cleared by jpeg_create_decompress
  jpeg_mem_src(&jpeg, file.data(), file.size());
  errors.rest = file;
  jpeg.src->bytes_in_buffer = 0;
  jpeg.src->fill_input_buffer = givePiece;
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
  errors.progress.progress_monitor = onProgress;
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
  constexpr size_t kMostBytes = size_t{1} << 30; // above what it decodes
  std::span<const uint8_t> mapped = file.bytes();
  if (mapped.size() > kMostBytes)
    return invalid(path, ": has ", mapped.size(),
                   " bytes; an image has at most ", kMostBytes);
  // Decoders own memory while they read, so a fault must not interrupt them:
  // they get a copy.
  std::vector<uint8_t> bytes(mapped.size());
  if (!readsWhole(
          [&] { std::copy(mapped.begin(), mapped.end(), bytes.data()); }))
    return invalid(path, ": the file was cut short while it was read");
  auto image = decodeImage(bytes);
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
