// Images as files in memory, written by the libraries that read them.
#pragma once

#include "training/data/image_file.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include <jpeglib.h>
#include <png.h>
#include <zlib.h>

namespace gradus::data {

inline std::string pngFile(const Image &image) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = image.width;
  png.height = image.height;
  png.format = image.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&png, nullptr, &size, 0, image.pixels.data(), 0,
                            nullptr);
  std::string file(size, '\0');
  png_image_write_to_memory(&png, file.data(), &size, 0, image.pixels.data(), 0,
                            nullptr);
  file.resize(size);
  return file;
}

/// How a JPEG file is written. Each of its chroma samples stands for `across` x
/// `down` pixels.
struct JpegKind {
  int across = 2, down = 2;
  bool progressive = false;
  int restart = 0; // blocks from mark to mark
};

inline std::string jpegFile(const Image &image, const JpegKind &kind = {}) {
  jpeg_compress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char *bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = image.width;
  jpeg.image_height = image.height;
  jpeg.input_components = image.channels;
  jpeg.in_color_space = image.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  jpeg.comp_info[0].h_samp_factor = image.channels == 3 ? kind.across : 1;
  jpeg.comp_info[0].v_samp_factor = image.channels == 3 ? kind.down : 1;
  jpeg.restart_interval = kind.restart;
  if (kind.progressive)
    jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < jpeg.image_height) {
    auto *row = const_cast<uint8_t *>(image.pixels.data()) +
                jpeg.next_scanline * image.width * image.channels;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  std::string file(reinterpret_cast<char *>(bytes), size);
  std::free(bytes);
  return file;
}

inline std::string bigEndian(uint32_t value) {
  return {char(value >> 24), char(value >> 16), char(value >> 8), char(value)};
}

inline std::string pngPart(const std::string &kind, const std::string &data) {
  std::string named = kind + data;
  auto *bytes = reinterpret_cast<const Bytef *>(named.data());
  return bigEndian(data.size()) + named +
         bigEndian(crc32(0, bytes, named.size()));
}

inline std::string deflated(const std::string &bytes) {
  uLongf size = compressBound(bytes.size());
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef *>(packed.data()), &size,
           reinterpret_cast<const Bytef *>(bytes.data()), bytes.size());
  packed.resize(size);
  return packed;
}

inline std::string jpegPart(uint8_t kind, const std::string &data) {
  return std::string{'\xff', char(kind)} +
         bigEndian(data.size() + 2).substr(2) + data;
}

/// One colour all over.
inline Image plainImage(int64_t width, int64_t height,
                        std::vector<uint8_t> pixel) {
  Image image{width, height, std::ssize(pixel), {}};
  for (int64_t i = 0; i < width * height; ++i)
    image.pixels.insert(image.pixels.end(), pixel.begin(), pixel.end());
  return image;
}

} // namespace gradus::data
