// Reads PNG with libpng and JPEG with libjpeg. These libraries report damaged
// files; data that they would make up silently is an error here.

#include "training/data/image_file.h"

#include "runtime/file.h"
#include "training/data/guarded_read.h"

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

runtime::Status decodePng(std::span<const uint8_t> file, Image &to) {
  Png png;
  png.file = file;
  auto damaged = [&] {
    return invalid("cannot be decoded: ", std::string_view(png.words));
  };
  if (!png.info || !readPngHeader(png))
    return damaged();
  to.width = png_get_image_width(png.read, png.info);
  to.height = png_get_image_height(png.read, png.info);
  to.channels = png_get_channels(png.read, png.info);
  GRADUS_TRY(checkSize(to.width, to.height));
  size_t rowBytes = to.width * to.channels;
  if (png_get_rowbytes(png.read, png.info) != rowBytes)
    return invalid("has pixels that are neither grey nor RGB");
  to.pixels.resize(rowBytes * to.height);
  std::vector<png_bytep> rows;
  for (int64_t row = 0; row < to.height; ++row)
    rows.push_back(to.pixels.data() + row * rowBytes);
  return readPngPixels(png, rows.data()) ? runtime::Status() : damaged();
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

/// Whether rows and columns of the pixels can be left out: libjpeg-turbo does
/// so, and to the bit, where the codes of a row follow each other.
bool canLeaveOut(jpeg_decompress_struct &jpeg) {
#if LIBJPEG_TURBO_VERSION_NUMBER >= 2001000
  return !jpeg_has_multiple_scans(&jpeg) && !jpeg.arith_code;
#else
  return false;
#endif
}

/// Starts decoding of columns of the scaled image, and of more around them:
/// widens `left` and `width` to what is decoded. On false, see the errors.
bool startJpeg(jpeg_decompress_struct &jpeg, JpegErrors &errors,
               JDIMENSION &left, JDIMENSION &width) {
  constexpr JDIMENSION kAround = 2; // colours are interpolated
  if (setjmp(errors.leave))
    return false;
  jpeg_start_decompress(&jpeg);
  JDIMENSION end = std::min(jpeg.output_width, left + width + kAround);
  left -= std::min(left, kAround);
  width = end - left;
#if LIBJPEG_TURBO_VERSION_NUMBER >= 2001000
  if (width < jpeg.output_width && canLeaveOut(jpeg)) {
    jpeg_crop_scanline(&jpeg, &left, &width);
    return true;
  }
#endif
  left = 0;
  width = jpeg.output_width;
  return true;
}

/// Goes on to a row of the image; decodes the rows before if need be.
void goToRow(jpeg_decompress_struct &jpeg, JDIMENSION row, uint8_t *spare) {
#if LIBJPEG_TURBO_VERSION_NUMBER >= 2001000
  if (row > 0 && canLeaveOut(jpeg))
    jpeg_skip_scanlines(&jpeg, row);
#endif
  while (jpeg.output_scanline < row)
    jpeg_read_scanlines(&jpeg, &spare, 1);
}

/// Whether the mark of the end was read, or is in what was not.
bool hasEnd(jpeg_decompress_struct &jpeg, const JpegErrors &errors) {
  if (jpeg_input_complete(&jpeg) || jpeg.unread_marker == JPEG_EOI)
    return true;
  const uint8_t *begin = jpeg.src->next_input_byte,
                *at = errors.rest.data() + errors.rest.size();
  for (at -= 2; at >= begin; --at) // It is the last of most files.
    if (at[0] == 0xff && at[1] == JPEG_EOI)
      return true;
  return false;
}

/// Reads rows of the image from `first` on, until the pixels are full.
bool readJpegPixels(jpeg_decompress_struct &jpeg, JpegErrors &errors,
                    JDIMENSION first, uint8_t *pixels, const uint8_t *end) {
  size_t rowBytes = size_t(jpeg.output_width) * jpeg.output_components;
  if (setjmp(errors.leave))
    return false;
  goToRow(jpeg, first, pixels);
  for (JSAMPROW row = pixels; row < end; row += rowBytes)
    jpeg_read_scanlines(&jpeg, &row, 1);
  if (jpeg.output_scanline == jpeg.output_height) {
    jpeg_finish_decompress(&jpeg);
  } else if (!hasEnd(jpeg, errors)) {
    jpeg.err->msg_code = JWRN_JPEG_EOF;
    leave(reinterpret_cast<j_common_ptr>(&jpeg));
  }
  return true;
}

/// Decides what to decode after the header is read.
JpegPart choosePart(const jpeg_decompress_struct &jpeg,
                    const RandomPart *part) {
  int64_t height = jpeg.image_height, width = jpeg.image_width;
  if (!part)
    return jpegPart({0, 0, height, width}, 8);
  Box box = cropBox(part->crop, height, width, part->draw);
  bool scales = part->crop.scaledDecoding;
  return jpegPart(
      box,
      scales ? jpegEighths(box, part->shape.height, part->shape.width) : 8);
}

runtime::Status readJpeg(jpeg_decompress_struct &jpeg, JpegErrors &errors,
                         std::span<const uint8_t> file, const RandomPart *part,
                         ImagePart &to) {
  auto damaged = [&] {
    return invalid("cannot be decoded: ", std::string_view(errors.words));
  };
  if (!readJpegHeader(jpeg, errors, file))
    return damaged();
  GRADUS_TRY(checkSize(jpeg.image_width, jpeg.image_height));
  JpegPart chosen = choosePart(jpeg, part);
  jpeg.scale_num = chosen.eighths;
  jpeg.scale_denom = 8;
  JDIMENSION left = chosen.box.left, width = chosen.box.width;
  if (!startJpeg(jpeg, errors, left, width))
    return damaged();
  to.box = chosen.box;
  to.box.top = 0;
  to.box.left -= left;
  to.rows = chosen.rows;
  to.columns = chosen.columns;
  Image &image = to.image;
  image.width = width;
  image.height = chosen.box.height;
  image.channels = jpeg.out_color_space == JCS_RGB ? 3 : 1;
  image.pixels.resize(image.width * image.height * image.channels);
  uint8_t *pixels = image.pixels.data();
  return readJpegPixels(jpeg, errors, chosen.box.top, pixels,
                        pixels + image.pixels.size())
             ? runtime::Status()
             : damaged();
}

/// Decodes the whole image if `part` is null.
runtime::Status decodeJpeg(std::span<const uint8_t> file,
                           const RandomPart *part, ImagePart &to) {
  JpegErrors errors;
  jpeg_decompress_struct jpeg = {};
  jpeg.err = jpeg_std_error(&errors.base);
  errors.base.error_exit = leave;
  errors.base.emit_message = onMessage;
  errors.progress.progress_monitor = onProgress;
  runtime::Status status = readJpeg(jpeg, errors, file, part, to);
  jpeg_destroy_decompress(&jpeg);
  return status;
}

//===-- Both --------------------------------------------------------------===//

/// Decodes what `part` needs; the whole image if it is null.
runtime::Status decode(std::span<const uint8_t> file, const RandomPart *part,
                       ImagePart &to) {
  constexpr uint8_t kPng[] = {0x89, 'P', 'N', 'G'}, kJpeg[] = {0xff, 0xd8};
  auto begins = [&](std::span<const uint8_t> with) {
    return file.size() >= with.size() &&
           std::equal(with.begin(), with.end(), file.begin());
  };
  if (begins(kJpeg))
    return decodeJpeg(file, part, to);
  if (!begins(kPng))
    return invalid("is neither a PNG nor a JPEG file");
  GRADUS_TRY(decodePng(file, to.image));
  int64_t height = to.image.height, width = to.image.width;
  to.box = part ? cropBox(part->crop, height, width, part->draw)
                : Box{0, 0, height, width};
  to.rows = {0, double(to.box.height)};
  to.columns = {0, double(to.box.width)};
  return runtime::Status();
}

/// Reads a file into memory. Decoders own memory while they read, so a fault
/// must not interrupt them: they get a copy.
runtime::Status copyFile(const std::string &path, std::vector<uint8_t> &to) {
  GRADUS_ASSIGN(MappedFile file, MappedFile::open(path));
  constexpr size_t kMostBytes = size_t{1} << 30; // above what it decodes
  std::span<const uint8_t> mapped = file.bytes();
  if (mapped.size() > kMostBytes)
    return invalid(path, ": has ", mapped.size(),
                   " bytes; an image has at most ", kMostBytes);
  to.resize(mapped.size());
  if (!readsWhole([&] { std::copy(mapped.begin(), mapped.end(), to.data()); }))
    return invalid(path, ": the file was cut short while it was read");
  return runtime::Status();
}

runtime::Status read(const std::string &path, const RandomPart *part,
                     ImageMemory &memory) {
  GRADUS_TRY(copyFile(path, memory.file));
  return at(decode(memory.file, part, memory.part), path);
}

} // namespace

runtime::Status decodeImage(std::span<const uint8_t> file, Image &to) {
  ImagePart whole;
  std::swap(whole.image, to);
  runtime::Status status = decode(file, nullptr, whole);
  std::swap(whole.image, to);
  return status;
}

runtime::Status decodePart(std::span<const uint8_t> file,
                           const RandomPart &part, ImagePart &to) {
  return decode(file, &part, to);
}

runtime::Status readImage(const std::string &path, ImageMemory &memory) {
  return read(path, nullptr, memory);
}

runtime::Status readPart(const std::string &path, const RandomPart &part,
                         ImageMemory &memory) {
  return read(path, &part, memory);
}

bool hasImageName(const std::string &path) {
  std::string name = absl::AsciiStrToLower(path);
  for (const char *ending : {".png", ".jpg", ".jpeg"})
    if (absl::EndsWith(name, ending))
      return true;
  return false;
}

} // namespace gradus::data
