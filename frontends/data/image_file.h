// Reads image files (PNG, JPEG) and scales images to the size of an input.

#pragma once

#include "frontends/data/resized_crop.h"
#include "runtime/status.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gradus::data {

/// Rows of pixels from the top, each of 1 (grey) or 3 (RGB) bytes.
struct Image {
  int64_t width = 0, height = 0, channels = 0;
  std::vector<uint8_t> pixels;
};

/// Decodes a PNG or JPEG file. Transparency is dropped, 16 bits become 8; more
/// than 2^26 pixels are refused.
runtime::StatusOr<Image> decodeImage(std::span<const uint8_t> file);
runtime::StatusOr<Image> readImage(const std::string &path);

/// Whether a file name has the extension of an image.
bool hasImageName(const std::string &path);

/// Writes an image as channels x height x width values in [0, 1]; `channels` is
/// 1 or 3. The image is scaled to cover that area, its shape kept, and cropped
/// to the middle. Grey from RGB is (19595 R + 38470 G + 7471 B + 32768) / 65536
/// in integers; RGB from grey repeats the grey. A pixel of the scaled image is
/// the mean under a triangle as wide as two pixels of the smaller image.
void fitImage(const Image &image, int64_t channels, int64_t height,
              int64_t width, float *to);

/// Scales a part of the image to the area, whatever its shape: torchvision's
/// resized_crop. Pixels outside the part have no influence.
void cropImage(const Image &image, const Box &box, int64_t channels,
               int64_t height, int64_t width, float *to);

} // namespace gradus::data
